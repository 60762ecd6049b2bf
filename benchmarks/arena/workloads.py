"""What is scheduled in the arena: nodes of three zones, and four kinds of workload."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from e2e.nodes import HOSTNAME, node
from e2e.workloads import pod

ZONE = "topology.kubernetes.io/zone"
GROUPS = 10  # pods of a workload belong to so many applications


def nodes(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        yield node(f"node-{number}", cpu=32, memory="128Gi", labels={ZONE: f"zone-{number % 3}"})


def basic(number: int) -> dict[str, Any]:
    """Pods that are all alike."""
    return pod(f"basic-{number}")


def spread(number: int) -> dict[str, Any]:
    """Applications spread evenly over zones for certain, and over nodes if possible."""
    app = {"app": f"spread-{number % GROUPS}"}

    def over(key: str, otherwise: str) -> dict[str, Any]:
        selector = {"matchLabels": app}
        return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": otherwise, "labelSelector": selector}

    constraints = [over(ZONE, "DoNotSchedule"), over(HOSTNAME, "ScheduleAnyway")]
    return pod(f"spread-{number}", labels=app, topologySpreadConstraints=constraints)


def anti_affinity(number: int) -> dict[str, Any]:
    """Applications of which no two pods may be on one node."""
    app = {"app": f"apart-{number % GROUPS}"}
    term = {"labelSelector": {"matchLabels": app}, "topologyKey": HOSTNAME}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    return pod(f"apart-{number}", labels=app, affinity=affinity)


def mixed(number: int) -> dict[str, Any]:
    """Ten sizes, every third with a wish, every fifth tied to a zone, every seventh spread: 210 kinds."""
    app = {"app": f"mixed-{number % GROUPS}"}
    words: dict[str, Any] = {"cpu": f"{50 * (1 + number % 10)}m", "memory": f"{32 * (1 + number % 5)}Mi"}
    if number % 3 == 0:
        wish = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": [f"zone-{number % 2}"]}]}
        preferred = [{"weight": 10, "preference": wish}]
        words["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    if number % 5 == 0:
        words["nodeSelector"] = {ZONE: f"zone-{number % 3}"}
    if number % 7 == 0:
        words["topologySpreadConstraints"] = spread(number)["spec"]["topologySpreadConstraints"]
    return pod(f"mixed-{number}", labels=app, **words)


WORKLOADS: dict[str, Callable[[int], dict[str, Any]]] = {
    "basic": basic,
    "spread": spread,
    "anti-affinity": anti_affinity,
    "mixed": mixed,
}
