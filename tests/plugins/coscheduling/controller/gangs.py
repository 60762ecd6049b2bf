"""A gang that a test changes, and somebody who hears what is to be written."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.framework.api.writes import Write
from mooring.framework.loading.rehearsal import StageHandle
from mooring.model.objects import Object, ObjectMeta, OwnerReference, Pod
from mooring.plugins.coscheduling.controller.gang import SIGS
from mooring.plugins.coscheduling.controller.podgroups import PodGroups
from mooring.testing import pod
from mooring.workloads.declared import Terms

PROFILE = "default-scheduler"


class Gang:
    """A gang of two; its pods by name."""

    def __init__(self, podgroups: str = SIGS, *, least: int = 2, declared_by_pods: bool = False) -> None:
        self.id = "default/train"
        self.podgroups = podgroups
        self.key = podgroups, self.id
        self.declared_by_pods = declared_by_pods
        self.pod_group: Object | None = None
        self.terms: Terms | None = Terms(least=least)
        self.members: dict[str, Pod] = {}
        self.unschedulable = ""

    @property
    def pods(self) -> list[Pod]:
        return list(self.members.values())

    def has(self, *names: str, node: str = "", phase: str = "Pending", **spec: Any) -> None:
        for name in names:
            self.members[name] = member(name, node, phase, **spec)

    def object(self, uid: str = "u1", ours: bool = False, **data: Any) -> Object:
        """Its PodGroup, as the API server shows it from now on."""
        labels = {"app.kubernetes.io/managed-by": "mooring"} if ours else {}
        notes = {"mooring.io/scheduler-name": PROFILE} if ours else {}
        meta = ObjectMeta(name="train", namespace="default", uid=uid, labels=labels, annotations=notes)
        group, version, _ = self.podgroups.split("/")
        self.pod_group = Object(
            api_version=f"{group}/{version}", kind="PodGroup", metadata=meta, data={"spec": {}, **data}
        )
        return self.pod_group


def member(name: str, node: str = "", phase: str = "Pending", owner: str = "job", **meta: Any) -> Pod:
    made = pod(name).build()
    owners = (
        OwnerReference(api_version="batch/v1", kind="Job", name=owner, uid=f"uid-{owner}", controller=True),
    )
    metadata = msgspec.structs.replace(
        made.metadata, uid=f"uid-{name}", owner_references=owners if owner else (), **meta
    )
    spec = msgspec.structs.replace(made.spec, scheduler_name=PROFILE, node_name=node)
    status = msgspec.structs.replace(made.status, phase=phase)
    return msgspec.structs.replace(made, metadata=metadata, spec=spec, status=status)


class Hearing(StageHandle):
    """Keeps what plugins ask for; the server in `play` carries writes out."""

    def __init__(self) -> None:
        self.written: list[Write] = []
        self.looked_up: list[str] = []
        self.profile = PROFILE
        self.moment = 1_767_225_600.0  # 2026-01-01

    @property
    def now(self) -> float:
        return self.moment

    def write(self, write: Write) -> None:
        self.written.append(write)

    def look_up(self, pod: Pod) -> None:
        self.looked_up.append(pod.name)


class Stage:
    """PodGroups at work."""

    def __init__(self) -> None:
        self.handle = Hearing()
        self.podgroups = PodGroups(self.handle)

    def changed(self, gang: Gang) -> list[Write]:
        """What is written because of a change."""
        self.podgroups.changed(gang)
        return self.rest()

    def rest(self) -> list[Write]:
        self.handle.written.clear()
        self.podgroups.follow_up()
        return list(self.handle.written)

    def play(self, gang: Gang) -> str:
        """Has everything written shown, until nothing more is; returns the phase."""
        for _ in range(10):
            if not (writes := self.changed(gang)):
                break
            for write in writes:
                show(gang, write)
        else:
            raise AssertionError("it is never right")
        return gang.pod_group.data.get("status", {}).get("phase", "") if gang.pod_group is not None else ""


def show(gang: Gang, write: Write) -> None:
    """The API server has carried out a write."""
    if write.verb == "create":
        labels = write.body["metadata"]["labels"]
        gang.object(
            ours=bool(labels), **{name: part for name, part in write.body.items() if name != "metadata"}
        )
    elif write.verb == "delete":
        gang.pod_group = None
    else:
        assert gang.pod_group is not None
        old = gang.pod_group.data.get("status", {})
        status = {name: value for name, value in {**old, **write.body["status"]}.items() if value is not None}
        data = {**gang.pod_group.data, "status": status}
        gang.pod_group = msgspec.structs.replace(gang.pod_group, data=data)
