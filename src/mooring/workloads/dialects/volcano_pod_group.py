"""Gangs as Volcano has them: a PodGroup that pods name in an annotation, with minimums for some tasks."""

from __future__ import annotations

from collections.abc import Mapping

from mooring.framework.api.handle import Lister
from mooring.model.objects import Object, Pod
from mooring.workloads import keys
from mooring.workloads.declared import Part, Terms
from mooring.workloads.dialects.pod_group_fields import NamedInMetadata, field
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
        return Terms(
            least=least or 0,
            parts=tuple(Part(name, count) for name, count in counts.items() if count),
            created=found.metadata.creation_timestamp,
            mistakes=tuple(reading.mistakes),
        )
