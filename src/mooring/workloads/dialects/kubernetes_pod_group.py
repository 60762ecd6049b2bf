"""Gangs as Kubernetes has them since 1.36: a PodGroup that the pod's spec names, made after a Workload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mooring.framework.api.handle import Lister
from mooring.model.objects import Object, Pod
from mooring.model.plain import part
from mooring.workloads.declared import Declared, Dialect, Terms
from mooring.workloads.dialects.pod_group_fields import field, mappings, spec_of
from mooring.workloads.topology_wishes import Wish, wish_of_kubernetes
from mooring.workloads.written_values import Reading

POD_GROUP, WORKLOAD = "PodGroup.scheduling.k8s.io", "Workload.scheduling.k8s.io"
NO_POD_GROUP = 'waiting for pods\'s pod group "{}" to appear in scheduling queue'
TOO_FEW = "waiting for minCount pods from a gang to appear in scheduling queue"
WHOLE = "PodGroup"  # the disruptionMode of pods that are evicted together
WAIT_S = 300.0


class Kubernetes(Dialect):
    name = "Kubernetes"
    kinds = (POD_GROUP, WORKLOAD)
    reads = ("scheduling.k8s.io/v1alpha2/podgroups", "scheduling.k8s.io/v1alpha2/workloads")
    prefix = "k8s:"
    wait_s = WAIT_S

    def declared(self, pod: Pod) -> Declared | None:
        group = pod.spec.scheduling_group
        if group is None or not group.pod_group_name:
            return None
        gang_id = f"{pod.namespace}/{group.pod_group_name}"
        said = f'spec.schedulingGroup.podGroupName "{group.pod_group_name}"'
        return Declared(dialect=self.name, key=self.prefix + gang_id, id=gang_id, source=gang_id, said=said)

    def terms(self, found: Object, entry: str, listers: Mapping[str, Lister]) -> Terms | None:
        spec, template = spec_of(found), _template(found, listers[WORKLOAD])
        policy = part(spec, "schedulingPolicy") or part(template, "schedulingPolicy")
        terms = policy_terms(found, "spec.schedulingPolicy", policy) if policy else None
        mode = spec.get("disruptionMode") or template.get("disruptionMode")
        return terms if terms is None else msgspec.structs.replace(terms, whole=mode == WHOLE)

    def wish(self, found: Object) -> Wish | None:
        constraints = spec_of(found).get("schedulingConstraints")
        return wish_of_kubernetes(constraints, field(found, "spec.schedulingConstraints"))

    def not_there(self, gang_id: str, pod: Pod) -> str:
        return NO_POD_GROUP.format(gang_id.partition("/")[2])

    def too_few(self, message: str) -> str:
        return TOO_FEW


def policy_terms(found: Object, where: str, policy: dict[str, Any]) -> Terms | None:
    """Basic pods go one by one; a gang has a minimum."""
    reading = Reading()
    if "gang" in policy:
        count = reading.mapping(field(found, f"{where}.gang"), policy["gang"]).get("minCount")
        least = reading.count(field(found, f"{where}.gang.minCount"), count)
    else:
        least = 0 if "basic" in policy else None
    if least is None and not reading.mistakes:
        return None
    return Terms(
        least=least or 0, created=found.metadata.creation_timestamp, mistakes=tuple(reading.mistakes)
    )


def _template(found: Object, workloads: Lister) -> dict[str, Any]:
    """What a PodGroup was made after; empty when that is not there."""
    ref = part(spec_of(found), "podGroupTemplateRef", "workload")
    workload = workloads.get(f"{found.metadata.namespace}/{ref.get('workloadName')}")
    templates = () if workload is None else mappings(spec_of(workload).get("podGroupTemplates"))
    return next((each for each in templates if each.get("name") == ref.get("podGroupTemplateName")), {})
