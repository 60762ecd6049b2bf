"""API versions that Kubernetes has no more, and what took their place.

Objects of the kinds that are acted on are read as their successors, which a note tells: an API server of
today would refuse them.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Removed(NamedTuple):
    since: str  # the Kubernetes that has it no more
    successor: str  # "": nothing took its place


def _table() -> dict[tuple[str, str], Removed]:
    lines = """
        extensions/v1beta1 1.16 apps/v1 DaemonSet Deployment ReplicaSet
        extensions/v1beta1 1.16 networking.k8s.io/v1 NetworkPolicy
        extensions/v1beta1 1.22 networking.k8s.io/v1 Ingress
        extensions/v1beta1 1.16 - PodSecurityPolicy
        apps/v1beta1 1.16 apps/v1 ControllerRevision Deployment StatefulSet
        apps/v1beta2 1.16 apps/v1 ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet
        batch/v2alpha1 1.21 batch/v1 CronJob
        batch/v1beta1 1.25 batch/v1 CronJob
        policy/v1beta1 1.25 policy/v1 PodDisruptionBudget
        policy/v1beta1 1.25 - PodSecurityPolicy
        scheduling.k8s.io/v1alpha1 1.22 scheduling.k8s.io/v1 PriorityClass
        scheduling.k8s.io/v1beta1 1.22 scheduling.k8s.io/v1 PriorityClass
        node.k8s.io/v1alpha1 1.24 node.k8s.io/v1 RuntimeClass
        node.k8s.io/v1beta1 1.25 node.k8s.io/v1 RuntimeClass
        storage.k8s.io/v1alpha1 1.24 storage.k8s.io/v1 CSIStorageCapacity VolumeAttachment
        storage.k8s.io/v1beta1 1.22 storage.k8s.io/v1 CSIDriver CSINode StorageClass VolumeAttachment
        storage.k8s.io/v1beta1 1.27 storage.k8s.io/v1 CSIStorageCapacity
        networking.k8s.io/v1beta1 1.22 networking.k8s.io/v1 Ingress IngressClass
        autoscaling/v2beta1 1.25 autoscaling/v2 HorizontalPodAutoscaler
        autoscaling/v2beta2 1.26 autoscaling/v2 HorizontalPodAutoscaler
        apiextensions.k8s.io/v1beta1 1.22 apiextensions.k8s.io/v1 CustomResourceDefinition
        apiregistration.k8s.io/v1beta1 1.22 apiregistration.k8s.io/v1 APIService
        admissionregistration.k8s.io/v1beta1 1.22 admissionregistration.k8s.io/v1 MutatingWebhookConfiguration
        admissionregistration.k8s.io/v1beta1 1.22 admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration
        rbac.authorization.k8s.io/v1alpha1 1.22 rbac.authorization.k8s.io/v1 ClusterRole ClusterRoleBinding Role RoleBinding
        rbac.authorization.k8s.io/v1beta1 1.22 rbac.authorization.k8s.io/v1 ClusterRole ClusterRoleBinding Role RoleBinding
        certificates.k8s.io/v1beta1 1.22 certificates.k8s.io/v1 CertificateSigningRequest
        coordination.k8s.io/v1beta1 1.22 coordination.k8s.io/v1 Lease
        discovery.k8s.io/v1beta1 1.25 discovery.k8s.io/v1 EndpointSlice
        events.k8s.io/v1beta1 1.25 events.k8s.io/v1 Event
        flowcontrol.apiserver.k8s.io/v1beta1 1.26 flowcontrol.apiserver.k8s.io/v1 FlowSchema PriorityLevelConfiguration
        flowcontrol.apiserver.k8s.io/v1beta2 1.29 flowcontrol.apiserver.k8s.io/v1 FlowSchema PriorityLevelConfiguration
        flowcontrol.apiserver.k8s.io/v1beta3 1.32 flowcontrol.apiserver.k8s.io/v1 FlowSchema PriorityLevelConfiguration
    """  # noqa: E501
    found = {}
    for line in lines.split("\n"):
        version, since, successor, *kinds = line.split() or ("", "", "")
        for kind in kinds:
            found[version, kind] = Removed(since, successor.strip("-"))
    return found


REMOVED = _table()
OWN_FIELDS = ("rollbackTo", "templateGeneration")  # of the specs of removed versions; without effect
SELECTING = ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")


def modernise(data: dict[str, Any]) -> str:
    """Makes the object one of its successor's version. What to say of it; "" if there is nothing."""
    version, kind = str(data.get("apiVersion")), str(data.get("kind"))
    removed = REMOVED.get((version, kind))
    if removed is None:
        return ""
    what = f"{kind} of {version} was removed in Kubernetes {removed.since}"
    if not removed.successor:
        return f"{what} and has no successor; it is not acted on"
    data["apiVersion"] = removed.successor
    if kind in SELECTING:
        _select(data.get("spec"))
    return f"{what}; it is read as one of {removed.successor}"


def _select(spec: Any) -> None:
    """Old versions took the selector from the template's labels when none was given."""
    if not isinstance(spec, dict):
        return
    for field in OWN_FIELDS:
        spec.pop(field, None)
    meta = (spec.get("template") or {}).get("metadata") if isinstance(spec.get("template"), dict) else None
    labels = meta.get("labels") if isinstance(meta, dict) else None
    if not spec.get("selector") and labels:
        spec["selector"] = {"matchLabels": labels}
