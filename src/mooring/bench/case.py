"""What a benchmark case is, and the objects cases are made of.

Cases are named after kube-scheduler's scheduler_perf where it has them, with its nodes and pods:
nodes of 4 cpus, 32Gi and 110 pods, pods of 100m and 500Mi.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from mooring.engine.engine import Engine
from mooring.framework.api.plugin import Plugin, PluginArgs
from mooring.model.objects import Node, Object, ObjectMeta, Pod, PodSpec

SCHEDULER = "default-scheduler"
NODE_RESOURCES = {"cpu": "4", "memory": "32Gi", "pods": "110"}
POD_REQUESTS = {"cpu": "100m", "memory": "500Mi"}
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
NAMESPACE = "bench"
ARRIVE_TOGETHER = 20  # pods that are in the queue at a time

MakeNode = Callable[[int], Node]
MakePods = Callable[[int, int], Iterator[Pod]]  # so many pods, for a cluster of so many nodes
Churn = Callable[[Engine, int], None]  # called before each measured pod with its number


def node(number: int, **more: Any) -> Node:
    """A node of scheduler_perf. `labels`, `taints` and `resources` add to it."""
    name = f"node-{number}"
    resources = {**NODE_RESOURCES, **more.get("resources", {})}
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "uid": f"uid-{name}",
                "labels": {HOST: name, **more.get("labels", {})},
            },
            "spec": {"taints": more.get("taints", [])},
            "status": {"allocatable": resources, "capacity": resources},
        },
        Node,
    )


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One benchmark: a cluster, pods that are there first, pods that are measured."""

    name: str
    about: str
    make_pods: MakePods
    make_first_pods: MakePods | None = None
    make_node: MakeNode = node
    nodes: int = 5000
    first_pods: int = 1000
    pods: int = 10_000
    policies: tuple[type[Plugin], ...] = ()
    args: dict[str, PluginArgs] = {}  # by plugin
    objects: tuple[Object, ...] = ()  # of other kinds, there from the start
    churn: Churn | None = None
    cold: bool = False  # without warming up: the first pod is measured, and told apart
    adaptive: bool = False  # looks at as many nodes as kube-scheduler does by default
    rested: bool = False  # the engine has had a moment without anything to do, as it has when it waits
    arrive_together: int = ARRIVE_TOGETHER


def pod_spec(requests: dict[str, Any] | None = None, **more: Any) -> PodSpec:
    """The spec of a pod of scheduler_perf; fields given replace its own."""
    wanted = POD_REQUESTS if requests is None else requests
    container = {
        "name": "pause",
        "image": "registry.k8s.io/pause:3.10.1",
        "resources": {"requests": wanted, "limits": wanted},
    }
    return msgspec.convert({"schedulerName": SCHEDULER, "containers": [container], **more}, PodSpec)


def pods_of(
    spec: PodSpec, prefix: str = "pod", labels: dict[str, str] | None = None, namespace: str = NAMESPACE
) -> MakePods:
    """Pods that are all alike."""

    def make(count: int, nodes: int) -> Iterator[Pod]:
        for number in range(count):
            yield pod(f"{prefix}-{number}", spec, labels, namespace)

    return make


def pod(name: str, spec: PodSpec, labels: dict[str, str] | None = None, namespace: str = NAMESPACE) -> Pod:
    meta = ObjectMeta(name=name, namespace=namespace, uid=f"uid-{name}", labels=dict(labels or {}))
    return Pod(metadata=meta, spec=spec)


def plain_object(kind: str, meta: ObjectMeta, spec: dict[str, Any] | None = None) -> Object:
    """An object of the core API group."""
    return Object(api_version="v1", kind=kind, metadata=meta, data={"spec": spec or {}})
