"""Gangs as KAI has them: a PodGroup that pods name in an annotation, with minimums of sub-groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from mooring.errors import ManifestError
from mooring.framework.api.handle import Lister
from mooring.model.objects import Object, Pod
from mooring.workloads import keys
from mooring.workloads.declared import Part, Terms
from mooring.workloads.dialects.pod_group_fields import NamedInMetadata, field, mappings, spec_of
from mooring.workloads.topology_wishes import MUST, NOT_BY_GROUP, Wish, wish_of_kai
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
        """That of the PodGroup, and of sub-groups that all its pods are in. Others that must hold are a
        mistake."""
        spec = spec_of(found)
        wish = wish_of_kai(spec.get("topologyConstraint"), field(found, "spec.topologyConstraint"))
        for number, each in enumerate(mappings(spec.get("subGroups"))):
            where = field(found, f"spec.subGroups[{number}].topologyConstraint")
            own = wish_of_kai(each.get("topologyConstraint"), where)
            if own is None or all(rule.strategy != MUST for rule in own.rules) or _is_implied(own, wish):
                continue
            if not _has_all(spec, str(each.get("name") or "").lower()) or not _is_alike(own, wish):
                raise ManifestError.at(where, NOT_BY_GROUP.format("required"))
            wish = own if wish is None else replace(wish, rules=(*wish.rules, *own.rules))
        return wish


def _is_implied(own: Wish, wish: Wish | None) -> bool:
    """Whether pods that are together as a whole are so in each part."""
    return _is_alike(own, wish) and all(
        any(rule.layer == each.layer and each.strategy == MUST for each in (wish.rules if wish else ()))
        for rule in own.rules
        if rule.strategy == MUST
    )


def _is_alike(own: Wish, wish: Wish | None) -> bool:
    return wish is None or wish.topology == own.topology


def _has_all(spec: dict[str, Any], name: str) -> bool:
    """Whether every sub-group that has pods is the named one, or below it."""
    groups = mappings(spec.get("subGroups"))
    parents = {str(each.get("name") or "").lower(): str(each.get("parent") or "").lower() for each in groups}

    def is_below(group: str) -> bool:
        seen: set[str] = set()
        while group and group not in seen:
            if group == name:
                return True
            seen.add(group)
            group = parents.get(group, "")
        return False

    return all(is_below(group) for group in parents.keys() - set(parents.values()))


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
