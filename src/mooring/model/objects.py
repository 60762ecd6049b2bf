"""Kubernetes objects as the API server sends them, with only the fields scheduling reads.

Attributes are the API's field names in snake case. Every Struct is frozen: a changed object is a
new object. Equal pod specs may share one `PodSpec`, whose derived values are computed once.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

import msgspec

from mooring.model.ports import HostPort, host_ports
from mooring.model.quantity import Quantity
from mooring.model.requests import Request, pod_request

PREEMPTIBLE_BELOW = 100  # KAI: workloads of a lower priority may be evicted for others


class Wire(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, gc=False):
    """Base of all wire objects: trees of values, in which the garbage collector has nothing to look for."""


W = TypeVar("W", bound=Wire)
Resources = dict[str, Quantity]


class OwnerReference(Wire, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(Wire, frozen=True):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


class LabelSelectorRequirement(Wire, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Wire, frozen=True):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class NodeSelectorTerm(Wire, frozen=True):
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()
    match_fields: tuple[LabelSelectorRequirement, ...] = ()


class NodeSelector(Wire, frozen=True):
    node_selector_terms: tuple[NodeSelectorTerm | None, ...] = ()


class PreferredSchedulingTerm(Wire, frozen=True):
    weight: int
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(Wire, frozen=True):
    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    preferred_during_scheduling_ignored_during_execution: tuple[PreferredSchedulingTerm, ...] = ()


class PodAffinityTerm(Wire, frozen=True):
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    topology_key: str = ""
    namespace_selector: LabelSelector | None = None
    match_label_keys: tuple[str, ...] = ()
    mismatch_label_keys: tuple[str, ...] = ()


class WeightedPodAffinityTerm(Wire, frozen=True):
    weight: int
    pod_affinity_term: PodAffinityTerm


class PodAffinity(Wire, frozen=True):
    """Both podAffinity and podAntiAffinity: their fields are the same."""

    required_during_scheduling_ignored_during_execution: tuple[PodAffinityTerm, ...] = ()
    preferred_during_scheduling_ignored_during_execution: tuple[WeightedPodAffinityTerm, ...] = ()


class Affinity(Wire, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class Toleration(Wire, frozen=True):
    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class TopologySpreadConstraint(Wire, frozen=True):
    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    match_label_keys: tuple[str, ...] = ()
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None


class ContainerPort(Wire, frozen=True):
    container_port: int = 0
    host_port: int = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = ""


class ResourceRequirements(Wire, frozen=True):
    requests: Resources = {}
    limits: Resources = {}


class Container(Wire, frozen=True):
    name: str = ""
    image: str = ""
    ports: tuple[ContainerPort, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    restart_policy: str = ""


class PodSchedulingGate(Wire, frozen=True):
    name: str


class PodSchedulingGroup(Wire, frozen=True):
    """The PodGroup a pod belongs to."""

    pod_group_name: str = ""


class WorkloadReference(Wire, frozen=True):
    """The Workload a pod belongs to, and its place in it: Kubernetes 1.35."""

    name: str = ""
    pod_group: str = ""
    pod_group_replica_key: str = ""


class PodSpec(Wire, frozen=True, dict=True, gc=True):
    """What a pod asks for. Derived values are kept on the spec, which equal pods share."""

    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    overhead: Resources = {}
    resources: ResourceRequirements | None = None
    volumes: tuple[dict[str, Any], ...] = ()
    scheduling_gates: tuple[PodSchedulingGate, ...] = ()
    scheduling_group: PodSchedulingGroup | None = None
    workload_ref: WorkloadReference | None = None
    resource_claims: tuple[dict[str, Any], ...] = ()
    host_network: bool = False
    restart_policy: str = ""
    runtime_class_name: str = ""  # this and the next are for the admission of the embedded cluster only
    active_deadline_seconds: int | None = None
    termination_grace_period_seconds: int | None = None
    unreadable: str = ""  # why nothing but the node and the scheduler is known of it; not of the API

    @cached_property
    def request(self) -> Request:
        """What the pod needs of a node, from the spec alone."""
        return pod_request(self)

    @cached_property
    def host_ports(self) -> tuple[HostPort, ...]:
        """Host ports the pod occupies on its node."""
        return host_ports(self)

    def on_node(self, node_name: str) -> PodSpec:
        """The same spec with a node. Both share one set of derived values: none depends on the node."""
        spec = msgspec.structs.replace(self, node_name=node_name)
        _share_derived(spec, self.__dict__)
        return spec


# A frozen Struct refuses to have its attributes set; its table of derived values is not one of them.
_share_derived = vars(PodSpec)["__dict__"].__set__


class ContainerStatus(Wire, frozen=True):
    name: str = ""
    resources: ResourceRequirements | None = None
    allocated_resources: Resources = {}


class PodCondition(Wire, frozen=True):
    type: str
    status: str = ""
    reason: str = ""
    message: str = ""
    observed_generation: int = 0


class PodStatus(Wire, frozen=True):
    phase: str = ""
    nominated_node_name: str = ""
    start_time: str | None = None
    conditions: tuple[PodCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: Resources = {}


class Pod(Wire, frozen=True):
    """A pod, with the shorthands policies use."""

    metadata: ObjectMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def key(self) -> str:
        """`namespace/name`, the way people write it."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels

    @property
    def annotations(self) -> dict[str, str]:
        return self.metadata.annotations

    @property
    def priority(self) -> int:
        return self.spec.priority or 0

    @property
    def preemptible(self) -> bool:
        """May be evicted for others: a priority below 100."""
        return self.priority < PREEMPTIBLE_BELOW

    @property
    def request(self) -> Request:
        """What the pod needs of a node, from the spec alone."""
        return self.spec.request

    @property
    def terminating(self) -> bool:
        return self.metadata.deletion_timestamp is not None

    def on_node(self, node_name: str) -> Pod:
        """The same pod, bound to a node."""
        return msgspec.structs.replace(self, spec=self.spec.on_node(node_name))


class Taint(Wire, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Wire, frozen=True):
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    provider_id: str = msgspec.field(name="providerID", default="")


class ContainerImage(Wire, frozen=True):
    names: tuple[str, ...] = ()
    size_bytes: int = 0


class NodeCondition(Wire, frozen=True):
    type: str
    status: str = ""


class NodeStatus(Wire, frozen=True):
    capacity: Resources = {}
    allocatable: Resources = {}
    images: tuple[ContainerImage, ...] = ()
    conditions: tuple[NodeCondition, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(Wire, frozen=True):
    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        return self.metadata.labels


class Object(msgspec.Struct, frozen=True, kw_only=True):
    """An object of any other kind, as plain data: for plugins that read it through a lister."""

    api_version: str
    kind: str
    metadata: ObjectMeta
    data: dict[str, Any]

    @property
    def key(self) -> str:
        meta = self.metadata
        return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
