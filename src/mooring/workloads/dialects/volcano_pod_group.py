"""Gangs as Volcano has them: a PodGroup that pods name in an annotation, with minimums for some tasks."""

from __future__ import annotations

from collections.abc import Mapping

from mooring.errors import ManifestError
from mooring.framework.api.handle import Lister
from mooring.model.objects import Object, Pod
from mooring.model.plain import part
from mooring.workloads import keys
from mooring.workloads.declared import Part, Terms
from mooring.workloads.dialects.pod_group_fields import NamedInMetadata, field, mappings, spec_of
from mooring.workloads.topology_wishes import NOT_BY_GROUP, Wish, wish_of_volcano
from mooring.workloads.written_values import Reading


class Volcano(NamedInMetadata):
    name = "Volcano"
    kinds = ("PodGroup.scheduling.volcano.sh",)
    reads = ("scheduling.volcano.sh/v1beta1/podgroups",)
    prefix = "volcano:"
    where = "annotation"
    naming_key = keys.VOLCANO_POD_GROUP

    def part_of(self, pod: Pod) -> str:
        return pod.annotations.get(keys.VOLCANO_TASK, "")

    def terms(self, found: Object, entry: str, listers: Mapping[str, Lister]) -> Terms | None:
        reading = Reading()
        spec = reading.mapping(field(found, "spec"), found.data.get("spec"))
        least = reading.count(field(found, "spec.minMember"), spec.get("minMember"))
        tasks = reading.mapping(field(found, "spec.minTaskMember"), spec.get("minTaskMember"))
        counts = {
            name: reading.count(field(found, f"spec.minTaskMember.{name}"), value)
            for name, value in tasks.items()
        }
        parts = tuple(Part(name, count) for name, count in counts.items() if count)
        whole = sum(part.least for part in parts) <= (least or 0)  # else Volcano does not look at tasks
        return Terms(
            least=least or 0,
            parts=parts if whole else (),
            created=found.metadata.creation_timestamp,
            mistakes=tuple(reading.mistakes),
        )

    def wish(self, found: Object) -> Wish | None:
        spec = spec_of(found)
        for number, policy in enumerate(mappings(spec.get("subGroupPolicy"))):
            where = field(found, f"spec.subGroupPolicy[{number}].networkTopology")
            wish = wish_of_volcano(part(policy, "networkTopology"), where)
            if wish is not None and wish.rules:
                raise ManifestError.at(where, NOT_BY_GROUP.format("hard"))
        affinity = part(spec, "topologyAffinity")
        for kind in affinity:
            if part(affinity, kind).get("required"):
                where = field(found, f"spec.topologyAffinity.{kind}.required")
                raise ManifestError.at(where, NOT_BY_GROUP.format("required"))
        return wish_of_volcano(part(spec, "networkTopology"), field(found, "spec.networkTopology"))
