"""A state that is made of sums over domains: it has changed when any of them has."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mooring.framework.api.domain import FollowingState
from mooring.plugins.topology.sums import DomainSums, together


class SumsState(FollowingState):
    """Follows its sums."""

    _sums: Sequence[DomainSums]  # all of them
    _syncs = 0  # that changed something

    def sync(self) -> Collection[int]:
        changed: Collection[int] = ()
        for sums in self._sums:
            if moved := sums.sync():
                changed = together(changed, moved)
        if changed:
            self._syncs += 1
        return changed

    def check(self) -> None:
        for sums in self._sums:
            sums.check()

    @property
    def version(self) -> int:
        return self._syncs
