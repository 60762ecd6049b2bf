"""Gangs as KAI has them: a PodGroup that pods name in an annotation, with minimums of sub-groups."""

from __future__ import annotations

from collections.abc import Mapping

from mooring.framework.api.handle import Lister
from mooring.model.objects import Object, Pod
from mooring.model.plain import part
from mooring.workloads import keys
from mooring.workloads.declared import Part, Terms
from mooring.workloads.dialects.pod_group_fields import NamedInMetadata, field, mappings, spec_of
from mooring.workloads.topology_wishes import Wish, wish_of_kai
from mooring.workloads.written_values import Reading


class Kai(NamedInMetadata):
    name = "KAI"
    kinds = ("PodGroup.scheduling.run.ai",)
    reads = ("scheduling.run.ai/v2alpha2/podgroups",)
    prefix = "kai:"
    where = "annotation"
    naming_key = keys.KAI_POD_GROUP

    def part_of(self, pod: Pod) -> str:
        return pod.labels.get(keys.KAI_SUB_GROUP, "").lower()

    def terms(self, found: Object, entry: str, listers: Mapping[str, Lister]) -> Terms | None:
        spec, reading = spec_of(found), Reading()
        parts = _leaves(found, reading)
        least = reading.count(field(found, "spec.minMember"), spec.get("minMember"))
        return Terms(
            least=sum(part.least for part in parts) if parts else max(least or 0, 1),
            parts=parts,
            only_parts=bool(parts),
            created=found.metadata.creation_timestamp,
            mistakes=tuple(reading.mistakes),
        )

    def wish(self, found: Object) -> Wish | None:
        constraint = part(spec_of(found), "topologyConstraint")
        return wish_of_kai(constraint, field(found, "spec.topologyConstraint"))


def _leaves(found: Object, reading: Reading) -> tuple[Part, ...]:
    """The sub-groups that have no sub-groups themselves; the minimum of others says nothing."""
    groups = mappings(spec_of(found).get("subGroups"))
    parents = {str(each.get("parent") or "").lower() for each in groups}
    leaves = []
    for number, each in enumerate(groups):
        name = str(each.get("name") or "").lower()
        if name and name not in parents:
            least = reading.count(field(found, f"spec.subGroups[{number}].minMember"), each.get("minMember"))
            leaves.append(Part(name, max(least or 0, 1)))
    return tuple(leaves)
