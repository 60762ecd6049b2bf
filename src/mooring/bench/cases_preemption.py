"""Cases of pods that less important ones make room for.

In all but the first, 5,000 nodes run 30 pods each, of five apps and five priorities. What is not measured
elsewhere is measured here: the very first preemption of an engine, and those after it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

from mooring.bench.case import HOST, NAMESPACE, ZONE, Case, node, pod, pod_spec, pods_of
from mooring.model.objects import Node, Object, ObjectMeta, Pod, PodStatus
from mooring.plugins.preemption.args import DefaultPreemptionArgs

ZONES, APPS = 10, 5
URGENT = {"app": "urgent"}
WANTED = {"cpu": "1", "memory": "500Mi"}


def _zoned_node(number: int) -> Node:
    return node(number, labels={ZONE: f"zone-{number % ZONES}"})


def _crowd(count: int, nodes: int) -> Iterator[Pod]:
    """Pods of five apps and five priorities that are on their nodes already, all nodes alike."""
    status = PodStatus(phase="Running", start_time="2024-01-01T00:00:00Z")
    for number in range(count):
        kind, name = number // nodes % APPS, f"node-{number % nodes}"
        spec = pod_spec({"cpu": f"{120 + 5 * kind}m", "memory": "500Mi"}, priority=kind, nodeName=name)
        made = pod(f"first-{number}", spec, {"app": f"app-{kind}", "part": f"part-{number % 10}"})
        yield msgspec.structs.replace(made, status=status)


def _of_kinds(count: int, nodes: int) -> Iterator[Pod]:
    """Preemptors of which no two are alike."""
    for number in range(count):
        spec = pod_spec({"cpu": f"{1000 + number}m", "memory": "500Mi"}, priority=10)
        yield pod(f"pod-{number}", spec)


def _budget(name: str, labels: dict[str, str]) -> Object:
    """Two of the pods with these labels may be disrupted."""
    return Object(
        api_version="policy/v1",
        kind="PodDisruptionBudget",
        metadata=ObjectMeta(name=name, namespace=NAMESPACE),
        data={"spec": {"selector": {"matchLabels": labels}}, "status": {"disruptionsAllowed": 2}},
    )


def _budgets(parts: int = 0) -> tuple[Object, ...]:
    """One for each app; or one for each app and part."""
    apps = [f"app-{number}" for number in range(APPS)]
    if not parts:
        return tuple(_budget(app, {"app": app}) for app in apps)
    named = [(app, f"part-{number}") for app in apps for number in range(parts)]
    return tuple(_budget(f"{app}-{part}", {"app": app, "part": part}) for app, part in named)


def _apart_and_spread() -> dict[str, Any]:
    """Alone of their kind on their host, and evenly over zones."""
    selector = {"matchLabels": URGENT}
    term = {"topologyKey": HOST, "labelSelector": selector}
    spread = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
    }
    return {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}},
        "topologySpreadConstraints": [spread],
    }


def _crowded(name: str, about: str, **more: Any) -> Case:
    fields: dict[str, Any] = {
        "make_first_pods": _crowd,
        "make_pods": pods_of(pod_spec(WANTED, priority=10)),
        "objects": _budgets(),
        "first_pods": 150_000,
        "pods": 200,
        "cold": True,
    }
    return Case(name=name, about=about, **(fields | more))


PREEMPTION_CASES: Final = (
    Case(
        name="PreemptionBasic",
        about="every pod preempts three less important ones",
        make_first_pods=pods_of(pod_spec({"cpu": "900m", "memory": "500Mi"}), "first"),
        make_pods=pods_of(pod_spec({"cpu": "3", "memory": "500Mi"}, priority=10)),
        nodes=1000,
        first_pods=4000,
        pods=1000,
    ),
    _crowded("PreemptionCold", "every pod preempts, on nodes of 30 pods under 5 disruption budgets"),
    _crowded(
        "PreemptionAll",
        "the same, and every node is a candidate (minCandidateNodesPercentage: 100)",
        args={"DefaultPreemption": DefaultPreemptionArgs(min_candidate_nodes_percentage=100)},
        rested=True,
    ),
    _crowded("PreemptionBudgets", "the same as PreemptionCold under 50 budgets", objects=_budgets(10)),
    _crowded(
        "PreemptionKinds",
        "the same as PreemptionCold, and no two preemptors are alike: nothing is known of any",
        make_pods=_of_kinds,
    ),
    _crowded(
        "PreemptionAffinity",
        "preemptors that keep apart from each other by host and are spread over zones",
        make_node=_zoned_node,
        make_pods=pods_of(pod_spec(WANTED, priority=10, **_apart_and_spread()), labels=URGENT),
        pods=40,
    ),
    _crowded(
        "PreemptionBurst", "2,000 preemptors that are all alike, one after the other", pods=2000, rested=True
    ),
)
