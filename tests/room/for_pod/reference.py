"""Preemption worked out step by step with lists: slow, obvious, and knowing nothing of how Mooring does it.

It knows cpu, memory, the number of pods, host ports, nodes that are cordoned, gangs among the victims and
pods that a policy protects.
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
    gang: str = ""
    guarded: bool = False

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


@dataclass
class Gang:
    """The pods of a gang, of whom so many have to stay unless all go."""

    least: int
    members: list[Guest]

    must_stay: bool = False

    @property
    def spare(self) -> int:
        """With too few anyhow, one that must stay has nothing to lose."""
        there = len(self.members)
        return there if self.must_stay and there < self.least else max(there - self.least, 0)


def importance(guest: Guest) -> tuple[int, int]:
    return -guest.priority, guest.started


def may_go(guest: Guest, pod: Guest) -> bool:
    return guest.priority < pod.priority and not guest.guarded


def smallest_first(unit: list[Guest]) -> list[Guest]:
    """By the larger of what each takes of all that they take of cpu and of memory."""
    cpu, memory = sum(guest.cpu for guest in unit), sum(guest.memory for guest in unit)

    def share(guest: Guest) -> float:
        shares = ((guest.cpu, cpu), (guest.memory, memory))
        return max((amount / total for amount, total in shares if amount), default=0.0)

    return sorted(unit, key=share)


def possible_victims(house: House, pod: Guest, gangs: dict[str, Gang]) -> list[Guest]:
    """Less important pods that nobody protects; of gangs that must stay, the last they can spare."""

    found = sorted((guest for guest in house.guests if may_go(guest, pod)), key=importance)
    for name, gang in gangs.items():
        if gang.must_stay:
            mine = [guest for guest in found if guest.gang == name]
            staying = mine[: len(mine) - min(gang.spare, len(mine))]
            found = [guest for guest in found if guest not in staying]
    return found


def together(victims: list[Guest], gangs: dict[str, Gang]) -> list[list[Guest]]:
    """Pods of one gang stand together, before single pods of the same priority; the larger gang first."""
    units = [[guest] for guest in victims if not guest.gang]
    names = dict.fromkeys(guest.gang for guest in victims if guest.gang)
    units += [[guest for guest in victims if guest.gang == name] for name in names]

    def rank(unit: list[Guest]) -> tuple[int, int, int]:
        first = unit[0]
        size = len(gangs[first.gang].members) if first.gang else 0
        return -first.priority, -size, first.started

    return sorted(units, key=rank)


def with_fallen_gangs(gone: list[Guest], gangs: dict[str, Gang]) -> list[Guest]:
    """Gangs that lose more than they can spare go as a whole."""
    found = list(gone)
    for name, gang in gangs.items():
        lost = [guest for guest in gone if guest.gang == name]
        if len(lost) > gang.spare:
            found += [guest for guest in gang.members if guest not in found]
    return found


def violating(units: list[list[Guest]], budgets: list[Allowance], gangs: dict[str, Gang]) -> list[Guest]:
    """Those at stake who are one too many for a budget."""
    left = [budget.allowed for budget in budgets]
    found = []
    for unit in units:
        for guest in with_fallen_gangs(unit, gangs) if unit[0].gang else unit:
            violates = False
            for number, budget in enumerate(budgets):
                if budget.covers(guest) and guest.name not in budget.disrupted:
                    left[number] -= 1
                    violates |= left[number] < 0
            if violates:
                found.append(guest)
    return found


def dry_run(house: House, pod: Guest, budgets: list[Allowance], gangs: dict[str, Gang]) -> Plan | list[str]:
    victims = possible_victims(house, pod, gangs)
    if not victims:
        return [NOBODY]
    staying = [guest for guest in house.guests if guest not in victims]
    reasons, _ = house.judge(pod, staying)
    if reasons:
        return reasons
    units = together(victims, gangs)
    wrong = violating(units, budgets, gangs)

    def is_wrong(unit: list[Guest]) -> bool:
        return any(guest in wrong for guest in (with_fallen_gangs(unit, gangs) if unit[0].gang else unit))

    for unit in [unit for unit in units if is_wrong(unit)] + [unit for unit in units if not is_wrong(unit)]:
        protected_first = sorted(unit, key=lambda guest: guest not in wrong)
        for order in [protected_first, smallest_first(protected_first)] if unit[0].gang else [unit]:
            back: list[Guest] = []
            for guest in order:
                if not house.judge(pod, [*staying, *back, guest])[0]:
                    back.append(guest)
            lost = len(unit) - len(back)
            if not unit[0].gang or lost <= gangs[unit[0].gang].spare:
                staying += back
                break
    gone = with_fallen_gangs([guest for guest in victims if guest not in staying], gangs)
    return Plan(house.name, sorted(gone, key=importance), sum(guest in wrong for guest in gone))


@dataclass(frozen=True)
class Verdict:
    fits: bool = False
    house: str | None = None
    victims: frozenset[str] = frozenset()
    said: str = ""


def preempt(
    houses: list[House],
    pod: Guest,
    budgets: list[Allowance],
    offset: int,
    percentage: int,
    absolute: int,
    minimums: dict[str, int] | None = None,
) -> Verdict:
    everybody = [guest for house in houses for guest in house.guests]
    gangs = {
        name: Gang(least, [guest for guest in everybody if guest.gang == name])
        for name, least in (minimums or {}).items()
    }
    for gang in gangs.values():
        gang.must_stay = not all(may_go(guest, pod) for guest in gang.members)
    judged = [house.judge(pod, house.guests) for house in houses]
    if any(not reasons for reasons, _ in judged):
        return Verdict(fits=True)
    helpful = [house for house, (_, hopeless) in zip(houses, judged, strict=True) if not hopeless]
    wanted = min(max(len(helpful) * percentage // 100, absolute), len(helpful))
    plans: list[Plan] = []
    reasons: Counter[str] = Counter()
    start = offset % len(helpful) if helpful else 0
    for house in helpful[start:] + helpful[:start]:
        answer = dry_run(house, pod, budgets, gangs)
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
