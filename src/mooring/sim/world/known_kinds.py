"""Which kinds there are: those read into types, those of Kubernetes itself, those without namespace."""

from __future__ import annotations

from typing import Any

from mooring.model.objects import Node, Pod
from mooring.sim.world.workloads import (
    DaemonSet,
    Deployment,
    Job,
    Namespace,
    PriorityClass,
    ReplicaSet,
    StatefulSet,
)

Typed = Node | Pod | Deployment | ReplicaSet | StatefulSet | DaemonSet | Job | PriorityClass | Namespace

TYPES: dict[str, type[Typed]] = {
    "Node": Node,
    "Pod": Pod,
    "Deployment": Deployment,
    "ReplicaSet": ReplicaSet,
    "StatefulSet": StatefulSet,
    "DaemonSet": DaemonSet,
    "Job": Job,
    "PriorityClass": PriorityClass,
    "Namespace": Namespace,
}

API_VERSIONS = {
    "Node": "v1",
    "Pod": "v1",
    "Namespace": "v1",
    "Deployment": "apps/v1",
    "ReplicaSet": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "PriorityClass": "scheduling.k8s.io/v1",
}

# Complete for these versions, so a kind that is not listed is a slip of the pen and not a custom resource.
KINDS_OF_VERSION = {
    "v1": (
        "Binding", "ComponentStatus", "ConfigMap", "Endpoints", "Event", "LimitRange", "Namespace", "Node",
        "PersistentVolume", "PersistentVolumeClaim", "Pod", "PodTemplate", "ReplicationController",
        "ResourceQuota", "Secret", "Service", "ServiceAccount",
    ),
    "apps/v1": ("ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
    "batch/v1": ("CronJob", "Job"),
    "scheduling.k8s.io/v1": ("PriorityClass",),
}  # fmt: skip

CLUSTER_WIDE = frozenset({
    # Kubernetes
    "APIService", "CSIDriver", "CSINode", "CertificateSigningRequest", "ClusterRole", "ClusterRoleBinding",
    "ClusterTrustBundle", "ComponentStatus", "CustomResourceDefinition", "DeviceClass", "DeviceTaintRule",
    "FlowSchema", "IPAddress", "IngressClass", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
    "MutatingWebhookConfiguration", "Namespace", "Node", "PersistentVolume", "PriorityClass",
    "PriorityLevelConfiguration", "ResourceSlice", "RuntimeClass", "ServiceCIDR", "StorageClass",
    "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
    "VolumeAttachment", "VolumeAttributesClass",
    # Koordinator
    "ClusterColocationProfile", "ClusterNetworkTopology", "Device", "NodeMetric", "NodeSLO", "Reservation",
    # scheduler-plugins, KAI
    "NodeResourceTopology", "Queue", "SchedulingShard", "Topology",
    # Volcano, Kueue, Kubeflow, Argo, Grove, Karpenter
    "HyperNode", "AdmissionCheck", "ClusterQueue", "Cohort", "ResourceFlavor", "WorkloadPriorityClass",
    "ClusterTrainingRuntime", "ClusterWorkflowTemplate", "ClusterTopology", "ClusterTopologyBinding",
    "NodeClaim", "NodePool", "Provisioner",
})  # fmt: skip


# Kinds of other groups that are made and kept as the typed kind of their name is.
ALIKE = frozenset({("apps.kruise.io", "StatefulSet"), ("apps.kruise.io", "DaemonSet")})


def is_typed(kind: str, api_version: str) -> bool:
    """True for the kinds read into types: `batch/v1` Job is one, a Job of somebody's own group is not."""
    group = _group(api_version)
    return kind in TYPES and (group == _group(API_VERSIONS[kind]) or (group, kind) in ALIKE)


def is_foreign_group(api_version: str) -> bool:
    """True for an API group that is neither the core group nor one of a built-in kind."""
    return _group(api_version) not in {_group(version) for version in KINDS_OF_VERSION}


def scopes_of(definitions: list[dict[str, Any]]) -> frozenset[str]:
    """The cluster-wide kinds, with those the given CustomResourceDefinitions declare so."""
    declared = {
        spec["names"]["kind"]: spec.get("scope")
        for spec in (definition.get("spec") for definition in definitions)
        if isinstance(spec, dict) and isinstance(spec.get("names"), dict) and "kind" in spec["names"]
    }
    namespaced = {kind for kind, scope in declared.items() if scope == "Namespaced"}
    return (CLUSTER_WIDE - namespaced) | {kind for kind, scope in declared.items() if scope == "Cluster"}


def _group(api_version: str) -> str:
    group, slash, _ = api_version.partition("/")
    return group if slash else ""
