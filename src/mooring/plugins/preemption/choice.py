"""What makes one node a better place to preempt on than another."""

from __future__ import annotations

import msgspec

from mooring.cluster.pods import Placed
from mooring.plugins.preemption.importance import started_us

PRIORITY_OFFSET = 2**31  # makes every priority positive: a victim more always weighs


class Candidate(msgspec.Struct, frozen=True):
    """A node on which the pod would fit without these pods, the most important first."""

    row: int
    victims: tuple[Placed, ...]
    violations: int  # of budgets

    def cost(self) -> tuple[int, int, int, int, int]:
        """Less is better: violations, the highest priority, all priorities, victims; then the victims
        of the highest priority that started last."""
        priorities = [placed.pod.priority for placed in self.victims]
        highest = priorities[0]
        starts = [started_us(placed.pod.status.start_time) for placed in self.victims]
        earliest = min(start for start, p in zip(starts, priorities, strict=True) if p == highest)
        total = sum(priorities) + PRIORITY_OFFSET * len(priorities)
        return self.violations, highest, total, len(priorities), -earliest


def better(one: Candidate | None, other: Candidate | None) -> Candidate | None:
    """The better of two, the first when they are alike."""
    if one is None or other is None:
        return one or other
    return other if other.cost() < one.cost() else one
