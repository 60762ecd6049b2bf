"""Preemption worked out step by step with lists: slow, obvious, and knowing nothing of how Mooring does it.

It knows cpu, memory, the number of pods, host ports, and nodes that are cordoned.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

FOREVER = 10**9
NOBODY = "No preemption victims found for incoming pod"
HELPLESS = "Preemption is not helpful for scheduling"


@dataclass(frozen=True)
class Guest:
    """A pod."""

    name: str
    priority: int
    cpu: int = 0
    memory: int = 0
    start: int = 0  # a day; 0 for none
    port: int = 0
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def started(self) -> int:
        return self.start or FOREVER


@dataclass
class House:
    """A node with its pods."""

    name: str
    cpu: int
    memory: int
    most: int
    guests: list[Guest] = field(default_factory=list)
    coming: list[Guest] = field(default_factory=list)  # nominated
    cordoned: bool = False

    def refuses(self, pod: Guest, guests: list[Guest]) -> tuple[list[str], bool]:
        """Why it does not take the pod beside these, and whether it never could."""
        if self.cordoned:
            return ["node(s) were unschedulable"], True
        if pod.port and any(guest.port == pod.port for guest in guests):
            return ["node(s) didn't have free ports for the requested pod ports"], False
        reasons, hopeless = [], False
        if len(guests) >= self.most:
            reasons.append("Too many pods")
        for what, has in (("cpu", self.cpu), ("memory", self.memory)):
            wanted = getattr(pod, what)
            if wanted and wanted > has - sum(getattr(guest, what) for guest in guests):
                reasons.append(f"Insufficient {what}")
                hopeless |= wanted > has
        return reasons, hopeless

    def judge(self, pod: Guest, guests: list[Guest]) -> tuple[list[str], bool]:
        """Among those that are to come first, then without them."""
        ahead = [guest for guest in self.coming if guest.priority >= pod.priority]
        if ahead:
            refusal = self.refuses(pod, guests + ahead)
            if refusal[0]:
                return refusal
        return self.refuses(pod, guests)


@dataclass(frozen=True)
class Allowance:
    """A budget."""

    key: str
    value: str
    allowed: int
    disrupted: frozenset[str] = frozenset()

    def covers(self, guest: Guest) -> bool:
        return dict(guest.labels).get(self.key) == self.value


@dataclass(frozen=True)
class Plan:
    """Victims on a node."""

    house: str
    victims: list[Guest]
    violations: int

    def cost(self) -> tuple[int, int, int, int, int]:
        highest = max(victim.priority for victim in self.victims)
        return (
            self.violations,
            highest,
            sum(victim.priority + 2**31 for victim in self.victims),
            len(self.victims),
            -min(victim.started for victim in self.victims if victim.priority == highest),
        )


def dry_run(house: House, pod: Guest, budgets: list[Allowance]) -> Plan | list[str]:
    victims = [guest for guest in house.guests if guest.priority < pod.priority]
    if not victims:
        return [NOBODY]
    staying = [guest for guest in house.guests if guest not in victims]
    reasons, _ = house.judge(pod, staying)
    if reasons:
        return reasons
    victims.sort(key=lambda guest: (-guest.priority, guest.started))
    left = [budget.allowed for budget in budgets]
    violating, fine = [], []
    for victim in victims:
        violates = False
        for number, budget in enumerate(budgets):
            if budget.covers(victim) and victim.name not in budget.disrupted:
                left[number] -= 1
                violates |= left[number] < 0
        (violating if violates else fine).append(victim)
    gone, violations = [], 0
    for victim in violating + fine:
        if house.judge(pod, [*staying, victim])[0]:
            gone.append(victim)
            violations += victim in violating
        else:
            staying.append(victim)
    gone.sort(key=lambda guest: (-guest.priority, guest.started))
    return Plan(house.name, gone, violations)


@dataclass(frozen=True)
class Verdict:
    fits: bool = False
    house: str | None = None
    victims: frozenset[str] = frozenset()
    said: str = ""


def preempt(
    houses: list[House], pod: Guest, budgets: list[Allowance], offset: int, percentage: int, absolute: int
) -> Verdict:
    judged = [house.judge(pod, house.guests) for house in houses]
    if any(not reasons for reasons, _ in judged):
        return Verdict(fits=True)
    helpful = [house for house, (_, hopeless) in zip(houses, judged, strict=True) if not hopeless]
    wanted = min(max(len(helpful) * percentage // 100, absolute), len(helpful))
    plans: list[Plan] = []
    reasons: Counter[str] = Counter()
    start = offset % len(helpful) if helpful else 0
    for house in helpful[start:] + helpful[:start]:
        answer = dry_run(house, pod, budgets)
        if isinstance(answer, list):
            reasons.update(answer)
            continue
        plans.append(answer)
        if len(plans) >= wanted and any(not plan.violations for plan in plans):
            break
    if plans:
        ordered = [p for p in plans if not p.violations] + [p for p in plans if p.violations]
        best = min(ordered, key=Plan.cost)
        return Verdict(house=best.house, victims=frozenset(victim.name for victim in best.victims))
    reasons[HELPLESS] += len(houses) - len(helpful)
    counted = ", ".join(sorted(f"{count} {reason}" for reason, count in (+reasons).items()))
    return Verdict(house="", said=f"preemption: 0/{len(houses)} nodes are available: {counted}.")
