"""Keeps the book of pods that are placed together: who belongs to whom, when they started, where they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from mooring.model.objects import Pod

GangOf = Callable[[Pod], tuple[str, str] | None]


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
    """The gangs of a run. `gang_of` says what tells a pod's gang from all others and what it is called, while
    the pod is there. Gangs of one name, declared in different ways, are called by what tells them apart."""

    def __init__(self, gang_of: GangOf) -> None:
        self._gang_of = gang_of
        self._gangs: dict[str, tuple[str, str]] = {}  # by pod, in the order they were met
        self._bound: dict[str, float] = {}  # when a pod was first bound

    def note(self, pod: Pod, elapsed: float, *, bound: bool) -> None:
        """Something was decided about a pod, or it waits for that."""
        known = self._gang_of(pod)
        if known is None:
            return
        self._gangs[pod.key] = known
        if bound:
            self._bound.setdefault(pod.key, elapsed)

    def results(
        self, placements: Mapping[str, str], pending: Iterable[Pod], why: Mapping[str, str]
    ) -> dict[str, GangResult]:
        """How things stand. `why` has the message of each pod that waits."""
        for pod in pending:
            self.note(pod, 0.0, bound=False)
        members: dict[tuple[str, str], list[str]] = {}
        for key, gang in self._gangs.items():
            members.setdefault(gang, []).append(key)
        times = Counter(name for _, name in members)
        shown = {(name if times[name] == 1 else key): pods for (key, name), pods in members.items()}
        return {name: self._result(shown[name], placements, why) for name in sorted(shown)}

    def _result(
        self, members: Sequence[str], placements: Mapping[str, str], why: Mapping[str, str]
    ) -> GangResult:
        placed = {pod: placements[pod] for pod in sorted(members) if pod in placements}
        message = next((why[pod] for pod in members if why.get(pod)), "")
        started = min((self._bound[pod] for pod in members if pod in self._bound), default=None)
        return GangResult(len(members), placed, started, message)
