"""Fields that the API does not have: a pod that asks for `nodeselector` asks for nothing.

`api_fields.txt` has the fields of every object that is acted on, as of Kubernetes 1.36. Custom resources,
labels, annotations and status are not looked into; neither are kinds that decide nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from mooring.errors import Mistake, did_you_mean
from mooring.sim.manifests.located_value import Spot, dotted

Fields = dict[str, str]  # name to what is in it: "", "Type", "[Type]" or "{Type}"

# What earlier versions had: manifests of theirs are none the worse for it.
FORMER = {
    "ObjectMeta": ("clusterName", "initializers"),
    "PodSpec": ("workloadRef",),
    "PodResourceClaim": ("source",),
    "VolumeResourceRequirements": ("claims",),
}


class _Api(NamedTuple):
    types: dict[str, Fields]
    kinds: frozenset[tuple[str, str]]  # apiVersion and kind


def has_known_fields(spot: Spot) -> bool:
    """Whether the fields of its kind are known here."""
    return (spot.value["apiVersion"], spot.value["kind"]) in _api().kinds


def unknown_fields(spot: Spot) -> Iterator[Mistake]:
    """Every unknown field of an object whose kind's fields are known."""
    return _in_mapping(spot, (spot.value["kind"],))


def _in_mapping(spot: Spot, above: tuple[str, ...]) -> Iterator[Mistake]:
    """`above` are the types from the object's own down to that of the spot."""
    if not isinstance(spot.value, dict):
        return
    fields = _api().types[above[-1]]
    for name, value in spot.value.items():
        if name not in fields:
            yield _unknown(spot, name, above)
        elif value is not None and (inner := fields[name]):
            yield from _inside(spot.child(name), inner, above)


def _inside(spot: Spot, inner: str, above: tuple[str, ...]) -> Iterator[Mistake]:
    below = (*above, inner.strip("[]{}"))
    found = {"[": spot.items, "{": spot.entries}.get(inner[0], lambda: [spot])
    for each in found():
        yield from _in_mapping(each, below)


def _unknown(spot: Spot, name: str, above: tuple[str, ...]) -> Mistake:
    path = (*spot.path, name)
    advice = _belongs(name, above) or did_you_mean(name, list(_api().types[above[-1]]))
    shown = dotted(path[len(spot.base) :])
    return Mistake(spot.document.place(path, key=True), f'unknown field "{shown}".{advice}')


def _belongs(name: str, above: tuple[str, ...]) -> str:
    """Where the field would be right: around here, or in the pods that the object makes."""
    types = _api().types
    near = [*reversed(above[:-1]), "PodSpec", "Container"]
    found = next((each for each in near if name in types[each]), "")
    return f" It is a field of {found}, not of {above[-1]}." if found else ""


@cache
def _api() -> _Api:
    types: dict[str, Fields] = {}
    kinds = set()
    for line in Path(__file__).with_name("api_fields.txt").read_text("utf-8").splitlines():
        head, _, rest = line.partition(":")
        api_version, _, name = head.rpartition(" ")
        fields = (field.partition("=") for field in rest.split())
        types[name] = {field: inner for field, _, inner in fields}
        types[name].update(dict.fromkeys(FORMER.get(name, ()), ""))
        if api_version:
            kinds.add((api_version, name))
    return _Api(types, frozenset(kinds))
