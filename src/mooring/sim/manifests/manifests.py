"""Ordinary Kubernetes manifests as checked objects.

`read_manifests` gives every object of the given files, or one ManifestError with every mistake of
every file: whoever mends them all can run. Lists are flattened; kinds Mooring does not know stay
plain data. Files of configuration that lie among manifests (groups `*.config.k8s.io`) are passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

import msgspec
from msgspec.structs import replace

from mooring.config.document import Document
from mooring.config.durations import parse_duration
from mooring.config.struct_check import convert
from mooring.errors import ManifestError, Mistake
from mooring.model.objects import Object, ObjectMeta
from mooring.sim.manifests.checks.between import mistakes_between
from mooring.sim.manifests.checks.heads import head_mistakes, kind_mistakes
from mooring.sim.manifests.checks.objects import object_mistakes
from mooring.sim.manifests.checks.owners import owner_mistakes
from mooring.sim.manifests.checks.storage import storage_mistakes
from mooring.sim.manifests.checks.times import time_annotations
from mooring.sim.manifests.located_value import Path as Steps
from mooring.sim.manifests.located_value import Spot
from mooring.sim.manifests.sources import Sources
from mooring.sim.world.defaults import DEFAULT_NAMESPACE
from mooring.sim.world.known_kinds import TYPES, Typed, is_typed, scopes_of
from mooring.sim.world.workloads import ARRIVES_AT, LEAVES_AT, template_of


class Entry(msgspec.Struct, frozen=True):
    """One object of a manifest: as plain data, as a type where it has one, and when it comes and goes."""

    object: Object
    value: Typed | None
    arrives_at: float = 0.0
    leaves_at: float | None = None


def read_manifests(paths: Sequence[str | Path], *, stdin: TextIO | None = None) -> tuple[Entry, ...]:
    """Every object in the files and folders, in order; ManifestError with all mistakes."""
    sources = Sources(paths, stdin)
    spots = [spot for document in sources.documents() for spot in _objects(document, (), document.data)]
    heads = [(spot, list(head_mistakes(spot))) for spot in spots]
    sound = [spot for spot, wrong in heads if not wrong]
    entries, mistakes = _entries(sound)
    mistakes += [mistake for _, wrong in heads for mistake in wrong]
    mistakes += [*sources.mistakes, *mistakes_between(sound)]
    if mistakes:
        raise ManifestError(_in_file_order(mistakes, sources.files))
    return tuple(entries)


def _objects(document: Document, path: Steps, data: Any) -> Iterator[Spot]:
    """The objects of a document: itself, or the elements of a list, however deep."""
    spot = Spot.of_object(document, path, data)
    if not isinstance(data, dict):
        yield spot
    elif _is_list(data):
        for index, item in enumerate(data["items"] or ()):
            _name_kind(item, data)
            yield from _objects(document, (*path, "items", index), item)
    elif not _is_configuration(data):
        yield spot


def _is_list(data: dict[str, Any]) -> bool:
    kind = data.get("kind")
    return isinstance(kind, str) and kind.endswith("List") and isinstance(data.get("items", ""), list | None)


def _name_kind(item: Any, parent: dict[str, Any]) -> None:
    """The elements of a PodList need not say that they are Pods."""
    kind = parent["kind"].removesuffix("List")
    if isinstance(item, dict) and kind and "kind" not in item:
        item["kind"] = kind
        item.setdefault("apiVersion", parent.get("apiVersion"))


def _is_configuration(data: dict[str, Any]) -> bool:
    group = str(data.get("apiVersion", "")).partition("/")[0]
    return group.endswith(".config.k8s.io")


def _entries(spots: list[Spot]) -> tuple[list[Entry], list[Mistake]]:
    definitions = [spot.value for spot in spots if spot.value["kind"] == "CustomResourceDefinition"]
    cluster_wide = scopes_of(definitions)
    entries: list[Entry] = []
    mistakes: list[Mistake] = []
    for spot in spots:
        entry, wrong = _entry(spot, cluster_wide)
        mistakes += wrong
        if entry is not None:
            entries.append(entry)
    return entries, mistakes


def _entry(spot: Spot, cluster_wide: frozenset[str]) -> tuple[Entry | None, list[Mistake]]:
    kind, api_version = spot.value["kind"], spot.value["apiVersion"]
    mistakes = list(kind_mistakes(spot))
    value: Typed | None = None
    if mistakes:
        return None, mistakes
    if is_typed(kind, api_version):
        value, mistakes = convert(spot.document, spot.path, cast(Any, TYPES[kind]), ignore_unknown=True)
        mistakes += object_mistakes(kind, spot)
    else:
        mistakes += [*time_annotations(spot.child("metadata")), *storage_mistakes(kind, spot)]
        mistakes += owner_mistakes(spot)
    meta, wrong = convert(spot.document, (*spot.path, "metadata"), ObjectMeta, ignore_unknown=True)
    mistakes += wrong if value is None and not mistakes else []
    if mistakes or meta is None:
        return None, mistakes
    meta = replace(meta, namespace="" if kind in cluster_wide else meta.namespace or DEFAULT_NAMESPACE)
    value = replace(value, metadata=meta) if value is not None else None
    plain = Object(api_version=api_version, kind=kind, metadata=meta, data=spot.value)
    return _timed(plain, value), []


def _timed(plain: Object, value: Typed | None) -> Entry:
    """A workload's pods cannot come before it, nor before their template says."""
    own = plain.metadata.annotations
    template = template_of(plain.data).get("metadata") or {}
    theirs = (template.get("annotations") or {}) if value is not None else {}
    arrivals = [parse_duration(each[ARRIVES_AT]) for each in (own, theirs) if ARRIVES_AT in each]
    leaves = parse_duration(own[LEAVES_AT]) if LEAVES_AT in own else None
    return Entry(plain, value, max(arrivals, default=0.0), leaves)


def _in_file_order(mistakes: list[Mistake], files: Sequence[str]) -> list[Mistake]:
    """As they stand in the files, the files as they were read; each only once."""
    ranks = {file: rank for rank, file in reversed(list(enumerate(files)))}

    def order(mistake: Mistake) -> tuple[int, int, int]:
        file, line, column = _parts(mistake.place)
        return ranks.get(file, len(ranks)), line, column

    return sorted(dict.fromkeys(mistakes), key=order)


def _parts(place: str) -> tuple[str, int, int]:
    parts = place.rsplit(":", 2)
    if len(parts) == 3 and parts[1].isdecimal() and parts[2].isdecimal():
        return parts[0], int(parts[1]), int(parts[2])
    return place, 0, 0
