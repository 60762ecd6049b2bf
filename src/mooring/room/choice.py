"""What makes one node a better place to preempt on than another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from mooring.cluster.pods import Placed
from mooring.model.objects import Pod
from mooring.room.importance import started_us

PRIORITY_OFFSET = 2**31  # makes every priority positive: a victim more always weighs
LOWEST = -(2**31)

Cost = tuple[int, int, int, int, int]


class Candidate(msgspec.Struct, frozen=True):
    """A node on which the pod would fit without these pods, the most important first."""

    row: int
    victims: tuple[Placed, ...]
    violations: int  # of budgets

    def cost(self) -> Cost:
        """Less is better."""
        return cost_of([placed.pod for placed in self.victims], self.violations)


def cost_of(victims: Sequence[Pod], violations: int) -> Cost:
    """Violations, the highest priority, all priorities, victims; then the victims of the highest priority
    that started last. Less is better; nobody to evict is best."""
    priorities = [pod.priority for pod in victims]
    highest = max(priorities, default=LOWEST)
    starts = [started_us(pod.status.start_time) for pod in victims if pod.priority == highest]
    total = sum(priorities) + PRIORITY_OFFSET * len(priorities)
    return violations, highest, total, len(priorities), -min(starts, default=0)


def better(one: Candidate | None, other: Candidate | None) -> Candidate | None:
    """The better of two, the first when they are alike."""
    if one is None or other is None:
        return one or other
    return other if other.cost() < one.cost() else one


def in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Those that violate no budget first, otherwise as they were found."""
    return sorted(candidates, key=lambda candidate: candidate.violations > 0)
