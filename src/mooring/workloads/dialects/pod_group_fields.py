"""PodGroups that pods name, and what they say: a minimum in the spec, the rest in annotations."""

from __future__ import annotations

from typing import Any, ClassVar

from mooring.model.objects import Object, Pod
from mooring.model.plain import part
from mooring.workloads import keys
from mooring.workloads.declared import Declared, Dialect, Terms
from mooring.workloads.written_values import Reading


class NamedInMetadata(Dialect):
    """Pods name their PodGroup under one key.

    where    what the key is of: `label` or `annotation`
    """

    where: ClassVar[str]
    naming_key: ClassVar[str]

    def declared(self, pod: Pod) -> Declared | None:
        name = (pod.labels if self.where == "label" else pod.annotations).get(self.naming_key)
        if not name:
            return None
        gang_id = f"{pod.namespace}/{name}"
        return Declared(
            dialect=self.name,
            key=self.prefix + gang_id,
            id=gang_id,
            source=gang_id,
            said=f'{self.where} {self.naming_key} "{name}"',
            part=self.part_of(pod),
        )

    def part_of(self, pod: Pod) -> str:
        """The part of the gang a pod belongs to; "" when gangs have none."""
        return ""


def spec_of(found: Object) -> dict[str, Any]:
    """The spec, as plain data; empty when there is none."""
    return part(found.data, "spec")


def mappings(value: object) -> list[dict[str, Any]]:
    """The mappings of a list; none when there is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list | tuple) else []


def field(found: Object, path: str) -> str:
    """How messages name a field of an object."""
    return f"{found.kind} {found.key} {path}"


def pod_group_terms(found: Object) -> Terms | None:
    """None when it has no minimum that can be read."""
    notes, reading = found.metadata.annotations, Reading()
    spec = reading.mapping(field(found, "spec"), found.data.get("spec"))
    least = reading.count(field(found, "spec.minMember"), spec.get("minMember"))
    seconds = reading.count(
        field(found, "spec.scheduleTimeoutSeconds"), spec.get("scheduleTimeoutSeconds") or None
    )

    def note(key: str) -> str:
        return field(found, f"annotation {key}")

    main = notes.get(keys.MATCH_POLICY)
    policy_key = keys.MATCH_POLICY if main else keys.LIGHT_MATCH_POLICY
    known = least or 0
    return Terms(
        least=known,
        total=reading.total(note(keys.TOTAL_NUMBER), notes.get(keys.TOTAL_NUMBER), known, "spec.minMember"),
        strict=reading.strict(note(keys.MODE), notes.get(keys.MODE)),
        policy=reading.policy(note(policy_key), main or notes.get(keys.LIGHT_MATCH_POLICY)),
        wait_s=float(seconds or 0),
        groups=reading.groups(note(keys.GROUPS), notes.get(keys.GROUPS), found.key),
        topology_spec=reading.json(note(keys.TOPOLOGY_SPEC), notes.get(keys.TOPOLOGY_SPEC)),
        created=found.metadata.creation_timestamp,
        mistakes=tuple(reading.mistakes),
    )
