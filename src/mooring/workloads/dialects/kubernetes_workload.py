"""Gangs as Kubernetes 1.35 has them: a pod names a Workload and one of the pod groups in it."""

from __future__ import annotations

from collections.abc import Mapping

from mooring.framework.api.handle import Lister
from mooring.model.objects import Object, Pod
from mooring.model.plain import part
from mooring.workloads.declared import Declared, Dialect, Terms
from mooring.workloads.dialects.kubernetes_pod_group import TOO_FEW, WAIT_S, WORKLOAD, policy_terms
from mooring.workloads.dialects.pod_group_fields import mappings, spec_of

NO_WORKLOAD = 'waiting for pods\'s workload "{}" to appear in scheduling queue'


class Workload(Dialect):
    """Pods of one pod group that have different replica keys are different gangs."""

    name = "Workload"
    kinds = (WORKLOAD,)
    reads = ("scheduling.k8s.io/v1alpha1/workloads",)
    prefix = "workload:"
    one_each = False
    wait_s = WAIT_S

    def declared(self, pod: Pod) -> Declared | None:
        ref = pod.spec.workload_ref
        if ref is None or not ref.name:
            return None
        replica = f"/{ref.pod_group_replica_key}" if ref.pod_group_replica_key else ""
        gang_id = f"{pod.namespace}/{ref.name}/{ref.pod_group}{replica}"
        return Declared(
            dialect=self.name,
            key=self.prefix + gang_id,
            id=gang_id,
            source=f"{pod.namespace}/{ref.name}",
            entry=ref.pod_group,
            said=f'spec.workloadRef "{ref.name}"',
        )

    def terms(self, found: Object, entry: str, listers: Mapping[str, Lister]) -> Terms | None:
        for number, each in enumerate(mappings(spec_of(found).get("podGroups"))):
            if each.get("name") == entry:
                return policy_terms(found, f"spec.podGroups[{number}].policy", part(each, "policy"))
        return None

    def not_there(self, gang_id: str, pod: Pod) -> str:
        return NO_WORKLOAD.format(gang_id.split("/")[1])

    def too_few(self, message: str) -> str:
        return TOO_FEW
