"""RuntimeClasses: the overhead of a container runtime, and the nodes that have it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from mooring.model.amounts import read_amounts
from mooring.model.objects import Object, PodSpec, Resources, Toleration
from mooring.model.plain import part, read

NOT_FOUND = 'pod rejected: RuntimeClass "{}" not found'
OTHER_OVERHEAD = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
OWN_OVERHEAD = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
CONFLICT = (
    "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {wanted}; pod.spec.nodeSelector[{key}] = {asked}"
)


class Rejected(Exception):
    """Why a pod is refused for its RuntimeClass."""


def with_runtime_class(spec: PodSpec, classes: Mapping[str, Object]) -> PodSpec:
    """The spec with what its RuntimeClass brings; Rejected if they do not go together."""
    if not spec.runtime_class_name:
        if spec.overhead:
            raise Rejected(OWN_OVERHEAD)
        return spec
    found = classes.get(spec.runtime_class_name)
    if found is None:
        raise Rejected(NOT_FOUND.format(spec.runtime_class_name))
    scheduling = part(found.data, "scheduling")
    return replace(
        spec,
        overhead=_overhead(spec, part(part(found.data, "overhead"), "podFixed")),
        node_selector=_selector(spec, part(scheduling, "nodeSelector")),
        tolerations=_tolerations(spec, scheduling.get("tolerations") or ()),
    )


def _overhead(spec: PodSpec, overhead: Resources) -> Resources:
    if spec.overhead and not overhead:
        raise Rejected(OWN_OVERHEAD)
    if spec.overhead and read_amounts(spec.overhead, "overhead") != read_amounts(overhead, "overhead"):
        raise Rejected(OTHER_OVERHEAD)
    return overhead


def _selector(spec: PodSpec, wanted: Mapping[str, str]) -> dict[str, str]:
    for key, value in wanted.items():
        asked = spec.node_selector.get(key, value)
        if asked != value:
            raise Rejected(CONFLICT.format(key=key, wanted=value, asked=asked))
    return {**spec.node_selector, **wanted}


def _tolerations(spec: PodSpec, wanted: object) -> tuple[Toleration, ...]:
    items = wanted if isinstance(wanted, list) else []
    found = (read(item, Toleration) for item in items if isinstance(item, dict))
    return spec.tolerations + tuple(each for each in found if each not in spec.tolerations)
