"""Keeps the book of pods that are placed together: who belongs to whom, when they started, where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from mooring.model.objects import Pod

GroupOf = Callable[[Pod], tuple[float, str] | None]


class GangResult(msgspec.Struct, frozen=True):
    """What became of a gang. `pods` are those that have a node, or had one when they finished."""

    members: int
    pods: dict[str, str]
    started_s: float | None = None  # when the first of them were bound; None if none ever was
    message: str = ""  # why others of them wait

    @property
    def placed(self) -> int:
        return len(self.pods)


class GangBook:
    """The gangs of a run, by name. `group_of` says what a pod's gang is called while the pod is there."""

    def __init__(self, group_of: GroupOf) -> None:
        self._group_of = group_of
        self._members: dict[str, dict[str, None]] = {}  # gang to pod keys, in the order they were met
        self._started: dict[str, float] = {}

    def note(self, pod: Pod, elapsed: float, *, bound: bool) -> None:
        """Something was decided about a pod, or it waits for that."""
        known = self._group_of(pod)
        if known is None:
            return
        _, name = known
        self._members.setdefault(name, {})[pod.key] = None
        if bound:
            self._started.setdefault(name, elapsed)

    def results(
        self, placements: Mapping[str, str], pending: Iterable[Pod], why: Mapping[str, str]
    ) -> dict[str, GangResult]:
        """How things stand. `why` has the message of each pod that waits."""
        for pod in pending:
            self.note(pod, 0.0, bound=False)
        return {name: self._result(name, placements, why) for name in sorted(self._members)}

    def _result(self, name: str, placements: Mapping[str, str], why: Mapping[str, str]) -> GangResult:
        members = self._members[name]
        placed = {key: placements[key] for key in sorted(members) if key in placements}
        message = next((why[key] for key in members if why.get(key)), "")
        return GangResult(len(members), placed, self._started.get(name), message)
