"""What goes wrong and when: a pure function of the seed, so that a run can be had again.

A run is rounds. In a round faults happen and pods come and go; between two rounds it is quiet, and what must
hold of a quiet cluster is looked at. Times count from the beginning of the round, so that a round does not
depend on how long the cluster took to come to rest before it.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

from chaos.workload import Batch, batches

ROUND_SECONDS = 300.0
LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS = 6, 4, 1

# of one scheduler
KILL, TERMINATE, FREEZE = "kill", "terminate", "freeze"
CUT, FORGET, HOLD, SLOW = "cut", "forget", "hold", "slow"  # its connections; see wire.py
FORBIDDEN, FAILING, THROTTLED = "forbidden", "failing", "throttled"  # what it is answered
CLOCK = "clock"
# of all
APISERVER, ETCD = "apiserver", "etcd"

ANSWERS = {FORBIDDEN: 403, FAILING: 500, THROTTLED: 429}
OF_ALL = (APISERVER, ETCD)
COSTS_NO_LEASE = (KILL, TERMINATE, CUT, CLOCK)  # such a fault is no reason for a process to end by itself


@dataclass(frozen=True)
class Often:
    """So many in a minute, each so long."""

    a_minute: float
    least_seconds: float = 0.0
    most_seconds: float = 0.0


OFTEN = {
    APISERVER: Often(0.95, 0.0, 5.0),
    ETCD: Often(0.35, 0.0, 4.0),
    KILL: Often(5.5),
    TERMINATE: Often(1.0),
    FREEZE: Often(0.7, LEASE_SECONDS + 1, LEASE_SECONDS * 2),
    CUT: Often(1.0),
    FORGET: Often(0.5),
    HOLD: Often(0.4, 1.0, LEASE_SECONDS * 2),
    SLOW: Often(0.4, 5.0, 15.0),
    FORBIDDEN: Often(0.3, 1.0, 6.0),
    FAILING: Often(0.3, 1.0, 6.0),
    THROTTLED: Often(0.3, 1.0, 6.0),
    CLOCK: Often(0.5),
}
AFTER_A_SERVER, AFTER_SECONDS = 0.25, 10.0  # of the schedulers' own faults so many, and so soon
JUMPS = (-86400.0, -3600.0, -30.0, 30.0, 3600.0, 86400.0 * 400)


@dataclass(frozen=True, order=True)
class Fault:
    at: float
    kind: str
    target: int = 0  # which scheduler; nothing to those of all
    seconds: float = 0.0  # how long it lasts
    amount: float = 0.0  # by how much a clock jumps, which part of the requests is answered so

    @property
    def ends(self) -> float:
        return self.at + self.seconds


@dataclass(frozen=True)
class Round:
    seconds: float
    faults: tuple[Fault, ...]
    batches: tuple[Batch, ...]


@dataclass(frozen=True)
class Plan:
    seed: int
    replicas: int
    rounds: tuple[Round, ...]

    def count(self) -> Counter[str]:
        return Counter(fault.kind for each in self.rounds for fault in each.faults)


def make_plan(
    seed: int, minutes: float, replicas: int, often: dict[str, Often] | None = None, *, plain: bool = False
) -> Plan:
    """Rounds of five minutes, or one that is shorter. `plain` leaves out what only Mooring knows: gangs."""
    number = max(1, round(minutes * 60 / ROUND_SECONDS))
    seconds = minutes * 60 / number
    draw = random.Random(f"{seed} faults")
    counts = [shared_out(often or OFTEN, minutes, number, which) for which in range(number)]
    return Plan(
        seed,
        replicas,
        tuple(
            Round(
                seconds,
                tuple(sorted(faults(draw, seconds, replicas, counts[which], often or OFTEN))),
                tuple(batches(f"{seed} round {which}", f"r{which}", seconds, plain=plain)),
            )
            for which in range(number)
        ),
    )


def shared_out(often: dict[str, Often], minutes: float, rounds: int, which: int) -> dict[str, int]:
    """How many of each kind in one round, so that all of them together are what was asked for."""
    return {
        kind: round(each.a_minute * minutes * (which + 1) / rounds)
        - round(each.a_minute * minutes * which / rounds)
        for kind, each in often.items()
    }


def faults(
    draw: random.Random, seconds: float, replicas: int, counts: dict[str, int], often: dict[str, Often]
) -> list[Fault]:
    """Anywhere in the round, but spread over it: a second fault of a kind in the same moment shows little.

    Some schedulers die while others have just lost the server, and know less than they think.
    """
    found: list[Fault] = []
    for kind, count in counts.items():
        part = seconds / max(count, 1)
        for number in range(count):
            lasts = draw.uniform(often[kind].least_seconds, often[kind].most_seconds)
            at = draw.uniform(number * part, (number + 1) * part)
            servers = [each for each in found if each.kind in OF_ALL]
            if kind in (KILL, TERMINATE, FREEZE) and servers and draw.random() < AFTER_A_SERVER:
                at = draw.choice(servers).ends + draw.uniform(0.0, AFTER_SECONDS)
            at = min(at, max(seconds - lasts, 0.0))
            target = 0 if kind in OF_ALL else draw.randrange(replicas)
            found.append(Fault(round(at, 3), kind, target, round(lasts, 3), amount(draw, kind)))
    return found


def amount(draw: random.Random, kind: str) -> float:
    if kind == CLOCK:
        return draw.choice(JUMPS)
    if kind == SLOW:
        return draw.choice((0.05, 0.2, 0.5))
    return draw.choice((0.3, 1.0)) if kind in ANSWERS else 0.0
