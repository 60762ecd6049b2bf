"""Gangs as Koordinator has them: annotations or labels on pods, or a PodGroup the pods name in a label."""

from __future__ import annotations

from collections.abc import Mapping

from mooring.framework.api.handle import Lister
from mooring.model.objects import Object, Pod
from mooring.workloads import keys
from mooring.workloads.declared import Declared, Dialect, Terms
from mooring.workloads.dialects.pod_group_fields import pod_group_terms
from mooring.workloads.written_values import Reading

WAYS = (("label", keys.POD_GROUP_LABEL), ("label", keys.LIGHT_NAME), ("annotation", keys.NAME))
LABELS = (keys.POD_GROUP_LABEL, keys.LIGHT_NAME, keys.LIGHT_MIN, keys.LIGHT_MATCH_POLICY)
NOTES = (
    keys.NAME,
    keys.MIN_AVAILABLE,
    keys.TOTAL_NUMBER,
    keys.MODE,
    keys.MATCH_POLICY,
    keys.LIGHT_MATCH_POLICY,
    keys.WAITING_TIME,
    keys.GROUPS,
    keys.TOPOLOGY_SPEC,
)
REMEMBERED = 1024  # declarations that are told apart
TWO_NAMES = "the pod names two gangs: {} and {}"


class Koordinator(Dialect):
    name = "Koordinator"
    kinds = ("PodGroup.scheduling.sigs.k8s.io",)
    reads = ("scheduling.sigs.k8s.io/v1alpha1/podgroups",)
    prefix = ""
    modes = True

    def __init__(self) -> None:
        self._known: dict[tuple[str | None, ...], Declared | None] = {}

    def declared(self, pod: Pod) -> Declared | None:
        """Pods of a gang say the same: it is read once."""
        meta, labels, notes = pod.metadata, pod.metadata.labels.get, pod.metadata.annotations.get
        said = (meta.namespace, meta.creation_timestamp, *map(labels, LABELS), *map(notes, NOTES))
        if said not in self._known:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[said] = self._read(pod)
        return self._known[said]

    def _read(self, pod: Pod) -> Declared | None:
        said = [(where, key, name) for where, key in WAYS if (name := _of(pod, where).get(key))]
        if not said:
            return None
        _, key, name = said[0]
        texts = [f'{each} {its_key} "{its_name}"' for each, its_key, its_name in said]
        other = next(
            (text for text, (_, _, its_name) in zip(texts, said, strict=True) if its_name != name), ""
        )
        mistakes = (TWO_NAMES.format(texts[0], other),) if other else ()
        gang_id = f"{pod.namespace}/{name}"
        reading = Reading()
        by_object = key == keys.POD_GROUP_LABEL
        terms = None if by_object else _terms_of(pod, gang_id, reading)
        return Declared(
            dialect=self.name,
            key=gang_id,
            id=gang_id,
            source=gang_id if by_object else "",
            said=texts[0],
            terms=terms,
            mistakes=(*mistakes, *reading.mistakes),
        )

    def terms(self, found: Object, entry: str, listers: Mapping[str, Lister]) -> Terms | None:
        return pod_group_terms(found)


def _of(pod: Pod, where: str) -> dict[str, str]:
    return pod.labels if where == "label" else pod.annotations


def _terms_of(pod: Pod, gang_id: str, reading: Reading) -> Terms | None:
    """The terms a pod carries; None without a minimum, which another pod of the gang may name."""
    notes, light = pod.annotations, pod.labels.get(keys.LIGHT_MIN)
    where = f"label {keys.LIGHT_MIN}" if light else f"annotation {keys.MIN_AVAILABLE}"
    least = reading.count(where, light or notes.get(keys.MIN_AVAILABLE))
    if least is None:
        return None
    main = notes.get(keys.MATCH_POLICY)
    policy_key = keys.MATCH_POLICY if main else keys.LIGHT_MATCH_POLICY
    policy = main or pod.labels.get(keys.LIGHT_MATCH_POLICY) or notes.get(keys.LIGHT_MATCH_POLICY)
    return Terms(
        least=least,
        total=reading.total(note(keys.TOTAL_NUMBER), notes.get(keys.TOTAL_NUMBER), least, where),
        strict=reading.strict(note(keys.MODE), notes.get(keys.MODE)),
        policy=reading.policy(note(policy_key), policy),
        wait_s=reading.wait(note(keys.WAITING_TIME), notes.get(keys.WAITING_TIME)),
        groups=reading.groups(note(keys.GROUPS), notes.get(keys.GROUPS), gang_id),
        topology_spec=reading.json(note(keys.TOPOLOGY_SPEC), notes.get(keys.TOPOLOGY_SPEC)),
        created=pod.metadata.creation_timestamp,
        mistakes=tuple(reading.mistakes),
    )


def note(key: str) -> str:
    """How messages name an annotation."""
    return f"annotation {key}"
