"""What InterPodAffinity knows of all nodes for one class of pods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from mooring.cluster.view import NodeView
from mooring.framework.domain import DomainState, Key
from mooring.framework.status import Status, unresolvable, unschedulable
from mooring.plugins.topology.sums import MISSING, Amount, DomainSums

NO_AFFINITY = unresolvable("node(s) didn't match pod affinity rules")
ANTI_AFFINITY = unschedulable("node(s) didn't match pod anti-affinity rules")
EXISTING_ANTI_AFFINITY = unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")

Counted = tuple[str, Amount]  # a topology key, and what is counted on each row
Weighed = tuple[int, str, Amount]


def _every_node(node: NodeView) -> bool:
    return True


class InterPodState(DomainState):
    """Sums over domains of: pods the pod must be near, must not be near, must not be near it, and
    pods it or they would rather be near or far from. A row's key is its tokens in that order."""

    def __init__(
        self,
        unique: Callable[[str], bool],
        *,
        near: Sequence[Counted],
        apart: Sequence[Counted],
        kept_away: Sequence[Counted],
        weighed: Sequence[Weighed],
        starts_its_own: bool,
    ) -> None:
        self.filters = bool(near or apart or kept_away)
        self.scores = bool(weighed)
        self._starts_its_own = starts_its_own
        self._weights = [weight for weight, _, _ in weighed]
        counted = (*near, *apart, *kept_away, *((key, amount) for _, key, amount in weighed))
        self._sums = [DomainSums(key, amount, _every_node, unique=unique(key)) for key, amount in counted]
        self._near = range(len(near))
        self._apart = range(len(near), len(near) + len(apart))
        self._kept_away = range(self._apart.stop, self._apart.stop + len(kept_away))
        self._weighed = range(self._kept_away.stop, len(counted))

    def update(self, row: int, node: NodeView | None) -> Key:
        return tuple(sums.update(row, node) for sums in self._sums)

    def status(self, key: Key) -> Status | None:
        tokens: tuple[object, ...] = key  # type: ignore[assignment]
        if self._near and not self._is_near(tokens):
            return NO_AFFINITY
        if any(self._count(index, tokens) for index in self._apart):
            return ANTI_AFFINITY
        if any(self._count(index, tokens) for index in self._kept_away):
            return EXISTING_ANTI_AFFINITY
        return None

    def raw_scores(self, keys: Sequence[Key], sizes: Sequence[int]) -> list[int]:
        return [self._raw(key) for key in keys]  # type: ignore[arg-type]

    def clone(self) -> Self:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._sums = [sums.clone() for sums in self._sums]
        return copy

    def _is_near(self, tokens: tuple[object, ...]) -> bool:
        """Near a matching pod by every term; or there is none at all and it is its own first."""
        if any(tokens[index] is MISSING for index in self._near):
            return False
        if all(self._sums[index].of(tokens[index]) for index in self._near):
            return True
        return self._starts_its_own and not any(self._sums[index].total for index in self._near)

    def _count(self, index: int, tokens: tuple[object, ...]) -> int:
        token = tokens[index]
        return 0 if token is MISSING else self._sums[index].of(token)

    def _raw(self, tokens: tuple[object, ...]) -> int:
        pairs = zip(self._weighed, self._weights, strict=True)
        return sum(weight * self._count(index, tokens) for index, weight in pairs)
