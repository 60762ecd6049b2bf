"""Generated scenarios: a few nodes, and pods that come one after the other with wishes of every kind."""

from __future__ import annotations

import random
from typing import Any

from e2e.api import Object
from e2e.gangs import X_K8S, members, pod_group
from e2e.nodes import node
from e2e.storage import claim, storage_class, using, volume
from e2e.workloads import pod, priority_class

ZONE, HOSTNAME = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
APPS, ZONES = ("web", "db", "cache"), ("a", "b", "c")
BETWEEN_S = 15  # longer than any back-off
LOCAL = "local"
ARRIVES = "sim.mooring.io/arrives-at"


def scenario(seed: int) -> list[Object]:
    """Objects that come at the beginning, and pods, each at its time."""
    draw = random.Random(seed)
    space = f"s{seed}"
    classes = [priority_class("low", -10), priority_class("high", 100), priority_class("polite", 50, "Never")]
    nodes = [_node(draw, number) for number in range(draw.randint(1, 5))]
    made: list[Object] = []
    for number in range(draw.randint(3, 7)):
        made += _arrival(draw, number, nodes)
    for each in made:
        if each["kind"] != "PersistentVolume":
            each["metadata"]["namespace"] = space
    return [*classes, storage_class(LOCAL), *nodes, *made]


def _node(draw: random.Random, number: int) -> Object:
    labels = {ZONE: draw.choice(ZONES), "disk": draw.choice(("ssd", "hdd"))}
    taints = draw.choice(([], [], [], ["team=blue:NoSchedule"], ["old:PreferNoSchedule"]))
    return node(
        f"node-{number}",
        cpu=draw.choice((1, 2, 4)),
        memory=draw.choice(("2Gi", "8Gi")),
        pods=draw.choice((2, 110, 110)),
        labels=labels,
        taints=taints,
        unschedulable=draw.random() < 0.1,
    )


def _arrival(draw: random.Random, number: int, nodes: list[Object]) -> list[Object]:
    if draw.random() < 0.2:
        return _gang(draw, number)
    made = pod(f"pod-{number}", **_wishes(draw))
    made["metadata"]["annotations"][ARRIVES] = f"{number * BETWEEN_S}s"
    if draw.random() > 0.1:
        return [made]
    where = draw.choice(nodes)["metadata"]["name"]
    made["spec"]["volumes"] = using(f"claim-{number}")
    asked = claim(f"claim-{number}", LOCAL, size=draw.choice(("1Gi", "1Gi", "9Gi")))
    return [volume(f"volume-{number}", LOCAL, node=where), asked, made]


def _gang(draw: random.Random, number: int) -> list[Object]:
    name, size, form = f"gang-{number}", draw.randint(1, 4), draw.choice((X_K8S, "annotations"))
    least = max(1, size + draw.choice((-1, 0, 0)))
    at = {ARRIVES: f"{number * BETWEEN_S}s"}
    pods = members(form, name, range(size), least, cpu=draw.choice(("500m", "1")), annotations=at)
    if form != X_K8S:
        return pods
    group = pod_group(form, name, least)
    group["metadata"]["annotations"] = {ARRIVES: f"{number * BETWEEN_S - 1}s" if number else "0s"}
    return [group, *pods]


def _wishes(draw: random.Random) -> dict[str, Any]:
    app = draw.choice(APPS)
    words: dict[str, Any] = {
        "cpu": draw.choice(("100m", "500m", "1", "1500m", "3")),
        "memory": draw.choice(("64Mi", "1Gi", "3Gi")),
        "labels": {"app": app},
    }
    for chance, wish in (
        (0.15, {"nodeSelector": {"disk": draw.choice(("ssd", "hdd", "tape"))}}),
        (0.3, {"affinity": _affinity(draw)}),
        (0.2, {"topologySpreadConstraints": [_spread(draw, app)]}),
        (0.3, {"tolerations": [{"key": "team", "operator": "Exists"}]}),
        (0.6, {"priorityClassName": draw.choice(("low", "low", "high", "high", "polite"))}),
        (0.1, {"ports": (8080,)}),
        (0.07, {"schedulingGates": [{"name": "example.com/wait"}]}),
        (0.07, {"extra": {"example.com/gpu": "1"}}),
        (0.05, {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "missing"}}]}),
    ):
        if draw.random() < chance:
            words |= wish
    return words


def _affinity(draw: random.Random) -> Object:
    term = {
        "labelSelector": {"matchLabels": {"app": draw.choice(APPS)}},
        "topologyKey": draw.choice((HOSTNAME, ZONE)),
    }
    zone = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": draw.sample(ZONES, 2)}]}
    weighted = {"weight": draw.randint(1, 100), "podAffinityTerm": term}
    choices: tuple[Object, ...] = (
        {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [zone]}}},
        {"nodeAffinity": {PREFERRED: [{"weight": draw.randint(1, 100), "preference": zone}]}},
        {"podAffinity": {REQUIRED: [term]}},
        {"podAntiAffinity": {REQUIRED: [term]}},
        {"podAffinity": {PREFERRED: [weighted]}},
        {"podAntiAffinity": {PREFERRED: [weighted]}},
    )
    return draw.choice(choices)


def _spread(draw: random.Random, app: str) -> Object:
    return {
        "maxSkew": draw.randint(1, 2),
        "topologyKey": draw.choice((ZONE, HOSTNAME)),
        "whenUnsatisfiable": draw.choice(("DoNotSchedule", "ScheduleAnyway")),
        "labelSelector": {"matchLabels": {"app": app}},
    }
