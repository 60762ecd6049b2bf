"""What a cluster fills in: the API server's defaults, its admission, and the node controllers' taints.

Each function gives a new object and leaves alone whatever the manifest says. Beyond Kubernetes there
is one default: a node that gives no count of pods takes 110, as a kubelet would report.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from mooring.model.objects import (
    Affinity,
    Container,
    ContainerPort,
    LabelSelector,
    LabelSelectorRequirement,
    Node,
    NodeStatus,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    ResourceRequirements,
    Resources,
    Taint,
    Toleration,
)
from mooring.model.taints import NO_EXECUTE, NO_SCHEDULE
from mooring.sim.world.priorities import PriorityClasses

DEFAULT_NAMESPACE = "default"
DEFAULT_SCHEDULER = "default-scheduler"
HOSTNAME = "kubernetes.io/hostname"
OLD_LABELS = {  # what the node controller keeps the same for old selectors
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
}
PODS_PER_NODE = 110  # the kubelet's maxPods
TOLERATED_SECONDS = 300
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
UNSCHEDULABLE = "node.kubernetes.io/unschedulable"

# Node condition and status, and the taint the node lifecycle controller answers it with.
TAINTED_CONDITIONS = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}


def default_spec(spec: PodSpec, labels: Mapping[str, str], priorities: PriorityClasses) -> PodSpec:
    """A pod's spec as the API server stores it; `labels` are the pod's own."""
    spec = replace(
        spec,
        scheduler_name=spec.scheduler_name or DEFAULT_SCHEDULER,
        containers=tuple(_container(each, spec.host_network) for each in spec.containers),
        init_containers=tuple(_container(each, spec.host_network) for each in spec.init_containers),
        resources=_pod_level(spec),
        tolerations=_with_node_tolerations(spec.tolerations),
        affinity=_affinity(spec.affinity, labels),
    )
    return priorities.resolve(spec)


def default_node(node: Node) -> Node:
    """A node as it stands in a cluster: with its resources, taints and the labels that every node has."""
    labels = {HOSTNAME: node.metadata.name, **node.metadata.labels}
    labels |= {old: labels[label] for old, label in OLD_LABELS.items() if label in labels}
    return replace(
        node,
        metadata=replace(node.metadata, labels=labels),
        spec=replace(node.spec, taints=_taints(node)),
        status=_resources(node.status),
    )


def _container(container: Container, host_network: bool) -> Container:
    return replace(
        container,
        ports=tuple(_port(port, host_network) for port in container.ports),
        resources=_requirements(container.resources),
    )


def _port(port: ContainerPort, host_network: bool) -> ContainerPort:
    """A pod on the host's network takes the host's port of the same number."""
    host_port = port.host_port or (port.container_port if host_network else 0)
    return replace(port, host_port=host_port, protocol=port.protocol or "TCP")


def _requirements(resources: ResourceRequirements) -> ResourceRequirements:
    """Whoever is limited and does not say what is needed asks for the limit."""
    return replace(resources, requests={**resources.limits, **resources.requests})


def _pod_level(spec: PodSpec) -> ResourceRequirements | None:
    """Pod-level limits become requests only where no container asks: else the containers' sum counts."""
    if spec.resources is None:
        return None
    asked = {
        name
        for container in (*spec.containers, *spec.init_containers)
        for name in (*container.resources.requests, *container.resources.limits)
    }
    limits = {name: limit for name, limit in spec.resources.limits.items() if name not in asked}
    return replace(spec.resources, requests={**limits, **spec.resources.requests})


def _with_node_tolerations(tolerations: tuple[Toleration, ...]) -> tuple[Toleration, ...]:
    added = tuple(
        Toleration(key=key, operator="Exists", effect=NO_EXECUTE, toleration_seconds=TOLERATED_SECONDS)
        for key in (NOT_READY, UNREACHABLE)
        if not any(_covers(toleration, key) for toleration in tolerations)
    )
    return tolerations + added


def _covers(toleration: Toleration, key: str) -> bool:
    return toleration.key in (key, "") and toleration.effect in (NO_EXECUTE, "")


def _affinity(affinity: Affinity | None, labels: Mapping[str, str]) -> Affinity | None:
    if affinity is None:
        return None
    return replace(
        affinity,
        pod_affinity=_pod_affinity(affinity.pod_affinity, labels),
        pod_anti_affinity=_pod_affinity(affinity.pod_anti_affinity, labels),
    )


def _pod_affinity(affinity: PodAffinity | None, labels: Mapping[str, str]) -> PodAffinity | None:
    if affinity is None:
        return None
    required = affinity.required_during_scheduling_ignored_during_execution
    preferred = affinity.preferred_during_scheduling_ignored_during_execution
    return replace(
        affinity,
        required_during_scheduling_ignored_during_execution=tuple(_term(term, labels) for term in required),
        preferred_during_scheduling_ignored_during_execution=tuple(
            replace(each, pod_affinity_term=_term(each.pod_affinity_term, labels)) for each in preferred
        ),
    )


def _term(term: PodAffinityTerm, labels: Mapping[str, str]) -> PodAffinityTerm:
    """matchLabelKeys become part of the selector: schedulers read the selector only."""
    selector = term.label_selector
    if selector is None or not (term.match_label_keys or term.mismatch_label_keys):
        return term
    added = _key_requirements(term.match_label_keys, "In", labels)
    added += _key_requirements(term.mismatch_label_keys, "NotIn", labels)
    merged = LabelSelector(
        match_labels=selector.match_labels,
        match_expressions=selector.match_expressions
        + tuple(each for each in added if each not in selector.match_expressions),
    )
    return replace(term, label_selector=merged)


def _key_requirements(
    keys: Iterable[str], operator: str, labels: Mapping[str, str]
) -> list[LabelSelectorRequirement]:
    return [
        LabelSelectorRequirement(key=key, operator=operator, values=(labels[key],))
        for key in keys
        if key in labels
    ]


def _resources(status: NodeStatus) -> NodeStatus:
    allocatable: Resources = status.allocatable or status.capacity
    if "pods" not in allocatable:
        allocatable = {**allocatable, "pods": status.capacity.get("pods", PODS_PER_NODE)}
    return replace(status, allocatable=allocatable, capacity=status.capacity or allocatable)


def _taints(node: Node) -> tuple[Taint, ...]:
    keys = [UNSCHEDULABLE] if node.spec.unschedulable else []
    for condition in node.status.conditions:
        key = TAINTED_CONDITIONS.get((condition.type, condition.status))
        keys += [key] if key else []
    there = {(taint.key, taint.effect) for taint in node.spec.taints}
    missing = (key for key in keys if (key, NO_SCHEDULE) not in there)
    return node.spec.taints + tuple(Taint(key=key, effect=NO_SCHEDULE) for key in missing)
