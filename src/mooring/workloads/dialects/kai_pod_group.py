"""Gangs as KAI has them: a PodGroup that pods name in an annotation, with minimums of sub-groups."""

from __future__ import annotations

from collections.abc import Mapping

from mooring.framework.api.handle import Lister
from mooring.model.objects import Object, Pod
from mooring.workloads import keys
from mooring.workloads.declared import Part, Terms
from mooring.workloads.dialects.pod_group_fields import NamedInMetadata, field, spec_of
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
        reading = Reading()
        spec = reading.mapping(field(found, "spec"), found.data.get("spec"))
        parts = _leaves(field(found, "spec.subGroups"), spec.get("subGroups"), reading)
        least = reading.count(field(found, "spec.minMember"), spec.get("minMember"))
        return Terms(
            least=sum(part.least for part in parts) if parts else max(least or 0, 1),
            parts=parts,
            only_parts=bool(parts),
            created=found.metadata.creation_timestamp,
            mistakes=tuple(reading.mistakes),
        )

    def wish(self, found: Object) -> Wish | None:
        constraint = spec_of(found).get("topologyConstraint")
        return wish_of_kai(constraint, field(found, "spec.topologyConstraint"))


def _leaves(where: str, given: object, reading: Reading) -> tuple[Part, ...]:
    """The sub-groups that have no sub-groups themselves; the minimum of others says nothing."""
    groups = reading.mappings(where, given)
    parents = {reading.name(f"{place}.parent", each.get("parent")).lower() for place, each in groups}
    leaves: dict[str, Part] = {}
    for place, each in groups:
        name = reading.name(f"{place}.name", each.get("name")).lower()
        if name in leaves:
            reading.wrong(f"{place}.name", name, "the name of another sub-group too")
        if name and name not in parents:
            least = reading.count(f"{place}.minMember", each.get("minMember"))
            leaves[name] = Part(name, max(least or 0, 1))
    if groups and not leaves and not reading.mistakes:
        reading.wrong(where, given, "not one sub-group with a name that is no other's parent")
    return tuple(leaves.values())
