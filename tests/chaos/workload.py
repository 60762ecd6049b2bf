"""Nodes, and pods that come and go near what the nodes can carry: a pure function of the seed.

They ask for all there is to ask for: node selectors, taints, host ports, pods that must be apart or evenly
spread, pods that are worth more than others, and gangs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from e2e.api import Object
from e2e.gangs import MARKS
from e2e.nodes import HOSTNAME, node
from e2e.workloads import pod, priority_class

ZONE = "topology.kubernetes.io/zone"
ZONES = ("a", "b", "c")
NODES, CPU = 18, 3
STEADY = "steady"  # the class of pods that are never evicted for others, and for which others are
STEADY_PRIORITY = 1000
PORTS = (8080, 8081, 9090)
BATCHES_A_SECOND = 2.0
LEAST_SECONDS, MOST_SECONDS = 6.0, 42.0
GANG_WAITING = "20s"
DELETED, FINISHED = "deleted", "finished"  # how pods end


@dataclass(frozen=True)
class Batch:
    """Pods that come together and go together."""

    at: float
    ends: float
    ending: str
    pods: tuple[Object, ...]


def nodes() -> list[Object]:
    """One in six is for batch work only, and every third has a fast disk."""
    return [
        node(
            f"node-{number:02}",
            cpu=CPU,
            labels={ZONE: ZONES[number % 3], "disk": "ssd" if number // 3 % 3 == 0 else "hdd"},
            taints=("dedicated=batch:NoSchedule",) if number >= NODES - 3 else (),
        )
        for number in range(NODES)
    ]


def classes() -> list[Object]:
    return [priority_class(STEADY, STEADY_PRIORITY)]


def batches(seed: str, prefix: str, seconds: float, *, plain: bool = False) -> Iterator[Batch]:
    draw = random.Random(seed)
    kinds = {kind: weight for kind, weight in WEIGHTS.items() if kind is not gang or not plain}
    at, number = 0.0, 0
    while True:
        at += draw.expovariate(BATCHES_A_SECOND)
        if at >= seconds:
            return
        (kind,) = draw.choices(list(kinds), list(kinds.values()))
        made = kind(f"{prefix}-{number}", draw)
        lasts = draw.uniform(LEAST_SECONDS, MOST_SECONDS)
        ending = FINISHED if kind is single and draw.random() < 0.3 else DELETED
        yield Batch(round(at, 3), round(at + lasts, 3), ending, tuple(made))
        number += 1


def single(name: str, draw: random.Random) -> list[Object]:
    return [pod(name, cpu=some_cpu(draw))]


def choosy(name: str, draw: random.Random) -> list[Object]:
    return [pod(name, cpu=some_cpu(draw), nodeSelector={"disk": "ssd"})]


def tolerant(name: str, draw: random.Random) -> list[Object]:
    """It may go where others may not."""
    toleration = {"key": "dedicated", "operator": "Equal", "value": "batch", "effect": "NoSchedule"}
    return [pod(f"{name}-{each}", cpu=some_cpu(draw), tolerations=[toleration]) for each in range(2)]


def with_port(name: str, draw: random.Random) -> list[Object]:
    return [pod(name, cpu="100m", ports=(draw.choice(PORTS),))]


def apart(name: str, draw: random.Random) -> list[Object]:
    """No two on one node, or no two in one zone."""
    key, count = draw.choice(((HOSTNAME, 4), (ZONE, 3)))
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": name}}}
    rule = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return group(name, count, cpu=some_cpu(draw), affinity=rule)


def spread(name: str, draw: random.Random) -> list[Object]:
    rule = {
        "topologyKey": ZONE,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": name}},
    }
    words: Object = {"topologySpreadConstraints": [rule], "priorityClassName": STEADY}
    return group(name, draw.randint(4, 7), cpu="300m", **words)


def urgent(name: str, draw: random.Random) -> list[Object]:
    """Others go for it."""
    return [pod(name, cpu=draw.choice(("1", "2")), priorityClassName=STEADY)]


def gang(name: str, draw: random.Random) -> list[Object]:
    size = draw.randint(3, 5)
    marks = MARKS["annotations"](name, size - draw.randint(0, 1))
    annotations = {**marks["annotations"], "gang.scheduling.koordinator.sh/waiting-time": GANG_WAITING}
    return [
        pod(f"{name}-{each}", cpu="700m", annotations=annotations, priorityClassName=STEADY)
        for each in range(size)
    ]


WEIGHTS: dict[Callable[[str, random.Random], list[Object]], int] = {
    single: 34,
    choosy: 10,
    tolerant: 8,
    with_port: 14,
    apart: 8,
    spread: 9,
    urgent: 9,
    gang: 8,
}


def group(name: str, count: int, **words: Any) -> list[Object]:
    return [pod(f"{name}-{each}", labels={"app": name}, **words) for each in range(count)]


def some_cpu(draw: random.Random) -> str:
    return draw.choice(("250m", "500m", "750m", "1", "1500m"))
