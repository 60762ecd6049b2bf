"""The clusters and pods both schedulers are given: one Kubernetes object a line, as an API server has them.

Nodes and pods are scheduler_perf's: 4 cpus, 32Gi and room for 110 pods; 100m and 500Mi. `mixed` and
`everything` are not for speed: they have both schedulers agree on what the others do not ask for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
ZONES = 3
NAMESPACE = "peer"
KINDS = 1000
THERE_EACH = 5  # every fifth node has a pod already
CREATED = "2026-01-01T00:00:00Z"
IMAGE = "registry.k8s.io/pause:3.10.1"
MB = 1024 * 1024
APP = {"app": "web"}
OTHER = {"app": "other"}
ALWAYS, IF_POSSIBLE = "DoNotSchedule", "ScheduleAnyway"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

Plain = dict[str, Any]


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """What is written to a file. `target`: how many times less CPU time than its peer Mooring is to take."""

    about: str
    make_pod: Callable[[int], Plain]
    make_node: Callable[[int], Plain]
    there: Callable[[int], Plain] | None = None  # pods that have a node from the start
    objects: tuple[Plain, ...] = ()
    target: float | None = None
    timed: bool = True

    def lines(self, nodes: int, pods: int) -> Iterator[Plain]:
        yield from self.objects
        yield from map(self.make_node, range(nodes))
        for number in range(0, nodes, THERE_EACH):
            if self.there is not None:
                yield on_node(self.there(number), f"node-{number}")
        yield from map(self.make_pod, range(pods))

    def write(self, file: Path, nodes: int, pods: int) -> None:
        with file.open("wb") as out:
            for thing in self.lines(nodes, pods):
                out.write(msgspec.json.encode(thing) + b"\n")


def meta(name: str, labels: dict[str, str] | None = None, **more: Any) -> Plain:
    return {"name": name, "uid": f"uid-{name}", "creationTimestamp": CREATED, "labels": labels or {}, **more}


def node(number: int, cpu: int = 4, images: tuple[Plain, ...] = (), taints: tuple[Plain, ...] = ()) -> Plain:
    name = f"node-{number}"
    resources = {"cpu": str(cpu), "memory": f"{8 * cpu}Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    labels = {HOST: name, ZONE: f"zone-{number % ZONES}", "kubernetes.io/os": "linux", "cpus": str(cpu)}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
    status = {"capacity": resources, "allocatable": resources, "conditions": [ready], "images": list(images)}
    spec = {"taints": list(taints)}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": meta(name, labels),
        "spec": spec,
        "status": status,
    }


def varied_node(number: int) -> Plain:
    """Three sizes; every tenth node is to be avoided, every fourth has the image."""
    image = {"names": [IMAGE], "sizeBytes": 300 * MB}
    avoid = {"key": "maintenance", "value": "soon", "effect": "PreferNoSchedule"}
    return node(
        number,
        cpu=(4, 8, 16)[number % 7 % 3],
        images=(image,) if number % 4 == 0 else (),
        taints=(avoid,) if number % 10 == 3 else (),
    )


def pod(name: str, labels: dict[str, str] | None = None, cpu: int = 100, **spec: Any) -> Plain:
    """A pod as it is after admission: with its defaults and the two tolerations everybody gets."""
    requests = {"cpu": f"{cpu}m", "memory": "500Mi"}
    container = {
        "name": "pause",
        "image": IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"requests": requests, "limits": requests},
    }
    away = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": meta(name, labels, namespace=NAMESPACE),
        "spec": {
            "schedulerName": "default-scheduler",
            "priority": 0,
            "restartPolicy": "Always",
            "dnsPolicy": "ClusterFirst",
            "terminationGracePeriodSeconds": 30,
            "preemptionPolicy": "PreemptLowerPriority",
            "containers": [container],
            "tolerations": [
                {"key": f"node.kubernetes.io/{state}", **away} for state in ("not-ready", "unreachable")
            ],
            **spec,
        },
        "status": {"phase": "Pending"},
    }


def on_node(made: Plain, name: str) -> Plain:
    return {**made, "spec": {**made["spec"], "nodeName": name}, "status": {"phase": "Running"}}


def spread(key: str, otherwise: str, skew: int = 1) -> Plain:
    selector = {"matchLabels": APP}
    return {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": otherwise, "labelSelector": selector}


def term(key: str, labels: dict[str, str]) -> Plain:
    return {"topologyKey": key, "labelSelector": {"matchLabels": labels}}


def weighted(weight: int, key: str, labels: dict[str, str]) -> Plain:
    return {"weight": weight, "podAffinityTerm": term(key, labels)}


def basic(number: int) -> Plain:
    return pod(f"pod-{number}")


def owned(number: int) -> Plain:
    """A pod of a ReplicaSet behind a Service."""
    made = pod(f"pod-{number}", APP)
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "web",
        "uid": "uid-web",
        "controller": True,
    }
    return {**made, "metadata": {**made["metadata"], "ownerReferences": [owner]}}


def hard_spread(number: int) -> Plain:
    constraints = [spread(HOST, ALWAYS), spread(ZONE, ALWAYS)]
    return pod(f"pod-{number}", APP, topologySpreadConstraints=constraints)


def apart(number: int) -> Plain:
    return pod(f"pod-{number}", APP, affinity={"podAntiAffinity": {REQUIRED: [term(HOST, APP)]}})


def classes(number: int) -> Plain:
    """A kind after the other: no two that follow each other are alike."""
    return pod(f"pod-{number}", cpu=100 + number % KINDS)


def everything(number: int) -> Plain:
    """All that is slow at once."""
    wish = {"matchExpressions": [{"key": "cpus", "operator": "In", "values": ["8", "16"]}]}
    affinity = {
        "nodeAffinity": {PREFERRED: [{"weight": 20, "preference": wish}]},
        "podAffinity": {PREFERRED: [weighted(30, ZONE, OTHER)]},
        "podAntiAffinity": {REQUIRED: [term(HOST, APP)], PREFERRED: [weighted(40, ZONE, APP)]},
    }
    constraints = [
        spread(HOST, ALWAYS),
        spread(ZONE, ALWAYS, 5),
        spread(HOST, IF_POSSIBLE),
        spread(ZONE, IF_POSSIBLE, 2),
    ]
    return pod(f"pod-{number}", APP, affinity=affinity, topologySpreadConstraints=constraints)


def mixed(number: int) -> Plain:
    """Of every case one, in sizes that fill the cluster: the last ones find no room."""
    made = (basic, owned, hard_spread, apart, everything, classes)[number % 6](number)
    container = {**made["spec"]["containers"][0]}
    requests = {"cpu": f"{100 + 150 * (number % 13)}m", "memory": f"{100 + 300 * (number % 7)}Mi"}
    container["resources"] = {"requests": requests if number % 5 else {}}
    return {**made, "spec": {**made["spec"], "containers": [container]}}


def other(number: int) -> Plain:
    return pod(f"there-{number}", OTHER)


SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": meta("web", namespace=NAMESPACE),
    "spec": {"selector": APP, "ports": [{"port": 80}]},
}
REPLICA_SET = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": meta("web", APP, namespace=NAMESPACE),
    "spec": {"selector": {"matchLabels": APP}, "template": {"metadata": {"labels": APP}}},
}
OWNERS = (SERVICE, REPLICA_SET)
MUCH, SOME = 60.0, 15.0

CASES = {
    "basic": Case(about="pods that are all alike", make_node=node, make_pod=basic, there=other, target=MUCH),
    "soft-spread": Case(
        about="pods of a ReplicaSet behind a Service, spread without being told",
        make_node=node,
        make_pod=owned,
        there=other,
        objects=OWNERS,
        target=MUCH,
    ),
    "hard-spread": Case(
        about="spread over hosts and zones for certain",
        make_node=node,
        make_pod=hard_spread,
        there=other,
        target=MUCH,
    ),
    "anti-affinity": Case(
        about="no two on one host", make_node=node, make_pod=apart, there=other, target=MUCH
    ),
    "classes": Case(
        about="1,000 kinds of pods, one after the other",
        make_node=node,
        make_pod=classes,
        there=other,
        target=SOME,
    ),
    "everything": Case(
        about="hard and soft spread, every affinity, nodes of three sizes",
        make_node=varied_node,
        make_pod=everything,
        there=other,
        timed=False,
    ),
    "mixed": Case(
        about="some of every case on nodes of three sizes, until they are full",
        make_node=varied_node,
        make_pod=mixed,
        there=other,
        objects=OWNERS,
        timed=False,
    ),
}
