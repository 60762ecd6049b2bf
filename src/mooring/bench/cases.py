"""The cases `mooring bench` knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from mooring.bench.case import ZONE, Case, MakePods, node, pod, pod_spec, pods_of
from mooring.bench.cases_affinity import AFFINITY_CASES
from mooring.bench.cases_constrained import CONSTRAINED_CASES
from mooring.bench.cases_gangs import GANG_CASES
from mooring.bench.cases_preemption import PREEMPTION_CASES
from mooring.bench.cases_topology import TOPOLOGY_CASES
from mooring.cluster.column import Ints
from mooring.cluster.columns import NodeColumns
from mooring.cluster.view import NodeView
from mooring.engine.engine import Engine
from mooring.engine.events import NodeAdded, NodeDeleted, PodAdded, PodChanged, PodDeleted
from mooring.framework.api.answers import Mask
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Status, unschedulable
from mooring.model.objects import Node, Pod

BASIC = pods_of(pod_spec())
FIRST = pods_of(pod_spec(), "first")

KEPT_CLEAR = unschedulable("node(s) are kept one pod below their limit")


class KeepClear(Plugin):
    """A policy as people write them: one node at a time, declared ROW."""

    scope = Scope.ROW

    def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> Status | None:
        full = node.pod_count >= node.max_pods - 1
        return KEPT_CLEAR if full else None

    def score(self, cycle: Cycle, pod: Pod, node: NodeView) -> int:
        return 100 - min(100, node.pod_count)


class Undeclared(KeepClear):
    """The same policy with nothing declared: asked about every node, every time."""

    scope = Scope.CLUSTER


class UndeclaredColumns(Plugin):
    """The same policy over columns, with nothing declared: all nodes are looked at again every time."""

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Mask:
        return Mask(nodes.pod_count < nodes.max_pods - 1, KEPT_CLEAR)

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Ints:
        return 100 - np.minimum(100, nodes.pod_count)


def _zoned_node(number: int) -> Node:
    return node(number, labels={ZONE: "zone1"})


def _own_resource_node(number: int) -> Node:
    return node(number, resources={f"foo.com/bar-{number}": "1"})


def _own_resource_pods(count: int, nodes: int) -> Iterator[Pod]:
    for number in range(count):
        spec = pod_spec({"cpu": "100m", "memory": "500Mi", f"foo.com/bar-{number % nodes}": "1"})
        yield pod(f"pod-{number}", spec)


def _daemon_pods(count: int, nodes: int) -> Iterator[Pod]:
    """Pinned one by one to nodes by name, as the DaemonSet controller pins them."""
    for number in range(count):
        fields = [{"key": "metadata.name", "operator": "In", "values": [f"node-{number % nodes}"]}]
        required = {"nodeSelectorTerms": [{"matchFields": fields}]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        yield pod(f"daemon-{number}", pod_spec({}, affinity=affinity))


def _zone_affinity() -> dict[str, object]:
    expression = {"key": ZONE, "operator": "In", "values": ["zone1", "zone2"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def _classes(count: int, nodes: int) -> Iterator[Pod]:
    kinds = 1000
    specs = [pod_spec({"cpu": f"{100 + kind}m", "memory": "500Mi"}) for kind in range(kinds)]
    for number in range(count):
        yield pod(f"pod-{number}", specs[number % kinds])


def _never_fits(engine: Engine, number: int) -> None:
    """Every 50th pod is preceded by one that fits nowhere."""
    if number % 50 == 0:
        engine.handle(PodAdded(pod(f"big-{number}", pod_spec({"cpu": "9"}, priority=10))), 0.0)


def _mixed_churn(engine: Engine, number: int) -> None:
    """A node comes and goes, and a pod that fits nowhere, again and again."""
    if number % 100 == 0:
        engine.handle(NodeAdded(node(10_000_000, resources={"pods": "0"})), 0.0)
        engine.handle(PodAdded(pod("churn", pod_spec({"cpu": "9"}))), 0.0)
    elif number % 100 == 50:
        engine.handle(NodeDeleted(node(10_000_000)), 0.0)
        engine.handle(PodDeleted(pod("churn", pod_spec({"cpu": "9"}))), 0.0)


def _deleted_in_the_queue(engine: Engine, number: int) -> None:
    """Every pod is preceded by one that is deleted before its turn, and kept by a finalizer."""
    queued = pod(f"deleted-{number}", pod_spec({}))
    engine.handle(PodAdded(queued), 0.0)
    meta = msgspec.structs.replace(queued.metadata, deletion_timestamp="2024-01-01T00:00:00Z")
    engine.handle(PodChanged(msgspec.structs.replace(queued, metadata=meta)), 0.0)


def _after_plain_pods(name: str, about: str, make_pods: MakePods = BASIC, **more: Any) -> Case:
    return Case(name=name, about=about, make_first_pods=FIRST, make_pods=make_pods, **more)


CASES: dict[str, Case] = {
    case.name: case
    for case in (
        _after_plain_pods("SchedulingBasic", "pods that are all alike"),
        _after_plain_pods(
            "SchedulingNodeAffinity",
            "required node affinity to a zone every node is in",
            pods_of(pod_spec(affinity=_zone_affinity())),
            make_node=_zoned_node,
        ),
        _after_plain_pods("SchedulingDaemonset", "each pod is pinned to one node by name", _daemon_pods),
        _after_plain_pods(
            "SchedulingSecrets",
            "pods with a secret volume",
            pods_of(pod_spec(volumes=[{"name": "s", "secret": {"secretName": "s"}}])),
        ),
        Case(
            name="SchedulingWithExtendedResource",
            about="each node has a resource of its own, each pod wants one of them",
            make_node=_own_resource_node,
            make_pods=_own_resource_pods,
            nodes=500,
            first_pods=0,
            pods=500,
        ),
        Case(
            name="SchedulingWhileGated",
            about="10,000 gated pods wait while pods that ask for nothing are placed",
            make_node=lambda number: node(number, resources={"pods": "40000"}),
            make_first_pods=pods_of(pod_spec({}, schedulingGates=[{"name": "wait"}]), "gated"),
            make_pods=pods_of(pod_spec({})),
            nodes=1,
            first_pods=10_000,
            pods=20_000,
        ),
        _after_plain_pods(
            "Unschedulable", "pods that fit nowhere arrive among those that do", churn=_never_fits
        ),
        Case(
            name="SchedulingWithMixedChurn",
            about="a node and a pod that fits nowhere come and go",
            first_pods=0,
            make_pods=BASIC,
            churn=_mixed_churn,
        ),
        Case(
            name="SchedulingDeletedPodsWithFinalizers",
            about="as many pods are deleted while they wait, and stay",
            first_pods=0,
            make_pods=pods_of(pod_spec({})),
            pods=5000,
            churn=_deleted_in_the_queue,
        ),
        *AFFINITY_CASES,
        *TOPOLOGY_CASES,
        *CONSTRAINED_CASES,
        *PREEMPTION_CASES,
        *GANG_CASES,
        _after_plain_pods("ManyClasses", "1,000 kinds of pods, one after the other", _classes, pods=5000),
        _after_plain_pods(
            "RowPolicy", "SchedulingBasic with a per-node Python policy declared ROW", policies=(KeepClear,)
        ),
        _after_plain_pods(
            "FullEvaluation",
            "SchedulingBasic with the same policy over columns, undeclared: all nodes, every time",
            policies=(UndeclaredColumns,),
            pods=2000,
        ),
        _after_plain_pods(
            "FullEvaluationPerNode",
            "the same, one node at a time: two calls of Python for every node and pod",
            policies=(Undeclared,),
            pods=500,
        ),
        _after_plain_pods(
            "FullEvaluationAdaptive",
            "one node at a time, for as many nodes as kube-scheduler looks for (adaptive: true)",
            policies=(Undeclared,),
            pods=2000,
            adaptive=True,
        ),
    )
}
