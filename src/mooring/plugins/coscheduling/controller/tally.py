"""Pods of gangs in numbers, with those that have finished: they are no longer followed, so they are noted.

A pod that is not followed any more has finished or is deleted, and what is told of it does not always say
which. Then the API server is asked; until it has answered, nothing is said about the gang.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mooring.model.objects import Pod
from mooring.plugins.coscheduling.controller.gang import WITH_PHASES, GangView, Key
from mooring.plugins.coscheduling.controller.phases import FINAL, Pods, Status, read_status

SUCCEEDED, FAILED, RUNNING = "Succeeded", "Failed", "Running"


class Finished(msgspec.Struct):
    """The pods of one PodGroup that have finished: as it said when it was first seen, and those since."""

    uid: str  # of the PodGroup
    succeeded: int
    failed: int
    seen: set[str]  # their uids


class Tally:
    """Counts the pods of all gangs. `look_up` has the API server asked for a pod's last state."""

    def __init__(self, look_up: Callable[[Pod], None]) -> None:
        self._look_up = look_up
        self._unclear: dict[Key, dict[str, Pod]] = {}  # pods to be looked up, by uid
        self._asked: dict[str, GangView] = {}  # by the uid of a pod that is being looked up
        self._finished: dict[Key, Finished] = {}

    def meet(self, gang: GangView) -> None:
        """From when a PodGroup is first seen, its pods that finish are counted here."""
        key, found = gang.key, gang.pod_group
        if found is None or gang.podgroups not in WITH_PHASES:
            self._finished.pop(key, None)
        elif (known := self._finished.get(key)) is None or known.uid != found.metadata.uid:
            status = read_status(found.data)
            self._finished[key] = Finished(found.metadata.uid, status.succeeded, status.failed, set())

    def gone(self, gang: GangView | None, pod: Pod) -> GangView | None:
        """A pod is no longer followed. Returns the gang it was of, where that is known."""
        uid, phase = pod.metadata.uid, pod.status.phase
        asked = self._asked.pop(uid, None)
        if (gang := asked or gang) is None:
            return None
        key = gang.key
        finished = self._finished.get(key)
        if asked is not None:
            self._drop(key, uid)
        if finished is None or uid in finished.seen:
            return gang
        if phase in (SUCCEEDED, FAILED):
            finished.seen.add(uid)
            finished.succeeded += phase == SUCCEEDED
            finished.failed += phase == FAILED
        elif asked is None and pod.spec.node_name and not pod.terminating:
            self._unclear.setdefault(key, {})[uid] = pod
        return gang

    def is_clear(self, gang: GangView) -> bool:
        """Whether it is known of all pods of the gang what became of them. If not, it is asked for."""
        key = gang.key
        unclear = self._unclear.get(key)
        if not unclear:
            return True
        if key not in self._finished or _is_final(gang):
            for uid in self._unclear.pop(key):
                self._asked.pop(uid, None)
            return True
        for uid, pod in unclear.items():
            if uid not in self._asked:
                self._asked[uid] = gang
                self._look_up(pod)
        return False

    def counted(self, gang: GangView, status: Status, pods: list[Pod]) -> Pods:
        """The gang's pods in numbers. What the status has counted already is never taken back."""
        self.meet(gang)
        finished = self._finished[gang.key]
        bound = [pod for pod in pods if pod.spec.node_name]
        return Pods(
            bound=len(bound),
            running=sum(1 for pod in bound if pod.status.phase == RUNNING),
            waiting=len(pods) - len(bound),
            succeeded=max(finished.succeeded, status.succeeded),
            failed=max(finished.failed, status.failed),
            owners=[owner for pod in pods for owner in _owners(pod)],
        )

    def forget(self, key: Key) -> None:
        self._finished.pop(key, None)

    def _drop(self, key: Key, uid: str) -> None:
        if (unclear := self._unclear.get(key)) is not None:
            unclear.pop(uid, None)
            if not unclear:
                del self._unclear[key]


def _is_final(gang: GangView) -> bool:
    return gang.pod_group is None or read_status(gang.pod_group.data).phase in FINAL


def _owners(pod: Pod) -> list[str]:
    return [f"{pod.namespace}/{owner.name}" for owner in pod.metadata.owner_references]
