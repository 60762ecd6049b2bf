"""A gang to try things on: all pods with the label `gang`."""

from __future__ import annotations

from typing import Any

from engine.stage import made, pod
from mooring.engine.decisions import Decision
from mooring.framework.api.grouping import Group
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.status import wait
from mooring.model.objects import Pod


def gang(least: int, **more: Any) -> type[Plugin]:
    """All pods with the label `gang` are one gang, of which so many must have places."""

    def pod_seen(self: Any, pod: Pod) -> None:
        known = self.__dict__.setdefault("known", {})
        known.pop(pod.uid, None)
        if "gang" in pod.labels and not pod.spec.node_name:
            known[pod.uid] = pod

    def pod_gone(self: Any, pod: Pod) -> None:
        self.__dict__.setdefault("known", {}).pop(pod.uid, None)

    def group(self: Any, pod: Pod) -> Any:
        if "gang" not in pod.labels:
            return None
        return Group("default/g", "gang default/g", tuple(self.known.values()), least)

    def permit(self: Any, cycle: Any, pod: Pod, node_name: str) -> Any:
        if "gang" not in pod.labels:
            return None
        self.__dict__.setdefault("held", set()).add(pod.uid)
        return None if len(self.held) >= least else wait(60.0, "too few")

    def unreserve(self: Any, cycle: Any, pod: Pod, node_name: str) -> None:
        self.__dict__.setdefault("held", set()).discard(pod.uid)

    def reserve(self: Any, cycle: Any, pod: Pod, node_name: str) -> None:
        return None

    members: dict[str, Any] = {
        "reserve": reserve,
        "pod_seen": pod_seen,
        "pod_gone": pod_gone,
        "group": group,
        "permit": permit,
        "unreserve": unreserve,
    }
    return made("Gang", **(members | more))


def members(count: int, **more: Any) -> list[Pod]:
    return [pod(f"p{i}", labels={"gang": "g"}, **more) for i in range(count)]


def names(decisions: list[Decision] | None, kind: type[Any]) -> list[str]:
    return sorted(each.pod.name for each in decisions or () if isinstance(each, kind))
