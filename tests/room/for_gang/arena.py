"""A scheduler with Coscheduling on a small cluster, and what it makes of a gang."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from engine.stage import BUILT_IN, Stage, node, pod
from mooring.engine.decisions import Bind, Decision, Evict, Nominate, Wait
from mooring.engine.events import ObjectAdded
from mooring.framework.api.plugin import Plugin
from mooring.model.objects import Node, Object, ObjectMeta, Pod, PodCondition
from mooring.plugins.coscheduling import Coscheduling

GANG = "gang.scheduling.koordinator.sh/"
HIGH = 100
DISRUPTED = PodCondition(type="DisruptionTarget", status="True", reason="PreemptionByScheduler")


def gang_pods(name: str, count: int, least: int | None = None, **more: Any) -> list[Pod]:
    """The pods of a gang: `<gang>-<number>`; `notes` are further annotations of gangs."""
    notes = {GANG + "name": name, GANG + "min-available": str(count if least is None else least)}
    notes |= {GANG + key: value for key, value in more.pop("notes", {}).items()}
    more = {"priority": HIGH} | more
    return [pod(f"{name}-{number}", annotations=notes, **more) for number in range(count)]


def leaving(pod: Pod, *, for_us: bool) -> Pod:
    """The pod as the API server shows it once it was deleted: by us, to make room, or by somebody else."""
    meta = msgspec.structs.replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    status = msgspec.structs.replace(pod.status, conditions=(DISRUPTED,) if for_us else ())
    return msgspec.structs.replace(pod, metadata=meta, status=status)


def started(pod: Pod, when: str) -> Pod:
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, start_time=when))


class Answer(NamedTuple):
    """What came of one attempt at a gang: where its pods are to go, who has to go, and what is said."""

    nominated: dict[str, str]
    victims: list[str]
    message: str
    overtaken: list[str]


class Arena(Stage):
    """`args` are those of Coscheduling."""

    def __init__(self, *plugins: type[Plugin], **args: Any) -> None:
        text = ""
        names = "".join(f"\n      - name: {each.name}" for each in (Coscheduling, *plugins))
        given = "".join(f"\n      {key}: {value}" for key, value in args.items())
        text = f"profiles:\n- plugins:\n    multiPoint:\n      enabled:{names}\n"
        if args:
            text += f"  pluginConfig:\n  - name: Coscheduling\n    args:{given}\n"
        super().__init__(Coscheduling, *plugins, base=BUILT_IN, text=text)

    def put(self, found: Object) -> None:
        self.engine.handle(ObjectAdded(found), self.now)

    def budget(self, name: str, allowed: int, **labels: str) -> None:
        data = {"spec": {"selector": {"matchLabels": labels}}, "status": {"disruptionsAllowed": allowed}}
        meta = ObjectMeta(name=name, namespace="default")
        self.put(Object(api_version="policy/v1", kind="PodDisruptionBudget", metadata=meta, data=data))

    def attempt(self, *pods: Pod) -> Answer:
        """One attempt at a gang that cannot start as things are."""
        self.add(*pods)
        decisions = self.cycle() or []
        assert not [each for each in decisions if isinstance(each, Bind)], decisions
        return answer(decisions)

    def columns(self) -> Any:
        """Everything that is counted of nodes, and who is on them."""
        nodes, pods = self.engine.cluster.nodes, self.engine.cluster.pods
        return (
            [each.requested.array.tolist() for each in nodes.resources.values()],
            nodes.pods.array.tolist(),
            [list(pods.on(row)) for row in range(nodes.high)],
            {uid: placed.hold for uid, placed in pods.by_uid.items()},
        )


def answer(decisions: list[Decision]) -> Answer:
    waits = [each for each in decisions if isinstance(each, Wait)]
    assert {each.reason for each in waits} == {"Unschedulable"}, waits
    messages = {each.message for each in waits}
    assert len(messages) == 1, messages
    return Answer(
        {each.pod.name: each.nominated for each in waits if each.nominated},
        sorted(each.pod.name for each in decisions if isinstance(each, Evict)),
        messages.pop(),
        sorted(each.pod.name for each in decisions if isinstance(each, Nominate) and not each.node),
    )


def nodes_of(*names: str, cpu: int = 32, **more: Any) -> list[Node]:
    return [node(name, cpu=cpu, **more) for name in names]
