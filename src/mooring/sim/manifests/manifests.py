"""Ordinary Kubernetes manifests as checked objects.

`read_manifests` gives every object of the given files, or one ManifestError with every mistake of
every file: whoever mends them all can run. Lists are flattened; kinds Mooring does not know stay
plain data. What is no object of a cluster and lies among manifests is passed over, with a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

import msgspec
from msgspec.structs import replace

from mooring.config.durations import parse_duration
from mooring.config.struct_check import convert
from mooring.errors import ManifestError, Mistake
from mooring.model.objects import Object, ObjectMeta
from mooring.sim.manifests.checks.admission import admission_mistakes
from mooring.sim.manifests.checks.between import Names
from mooring.sim.manifests.checks.heads import head_mistakes, kind_mistakes
from mooring.sim.manifests.checks.objects import object_mistakes
from mooring.sim.manifests.checks.owners import owner_mistakes
from mooring.sim.manifests.checks.required_fields import missing_fields
from mooring.sim.manifests.checks.storage import storage_mistakes
from mooring.sim.manifests.checks.times import time_annotations
from mooring.sim.manifests.checks.unknown_fields import has_known_fields, unknown_fields
from mooring.sim.manifests.documents import objects_of
from mooring.sim.manifests.located_value import Spot, is_live
from mooring.sim.manifests.not_objects import TEMPLATE, is_template
from mooring.sim.manifests.notes import Notes, Remark, unheard
from mooring.sim.manifests.sources import Sources
from mooring.sim.manifests.twice import Once
from mooring.sim.world.defaults import DEFAULT_NAMESPACE
from mooring.sim.world.known_kinds import TYPES, Typed, is_typed, scopes_of
from mooring.sim.world.workloads import ARRIVES_AT, LEAVES_AT, template_of


class Entry(msgspec.Struct, frozen=True):
    """One object of a manifest: as plain data, as a type where it has one, and when it comes and goes."""

    object: Object
    value: Typed | None
    arrives_at: float = 0.0
    leaves_at: float | None = None


def read_manifests(
    paths: Sequence[str | Path],
    *,
    stdin: TextIO | None = None,
    lenient: bool = False,
    remark: Remark = unheard,
) -> tuple[Entry, ...]:
    """Every object in the files and folders, in order; ManifestError with all mistakes.

    `remark` hears what is passed over, and what is `lenient`ly taken though an API server would refuse it:
    fields it does not know, and fields it misses.
    """
    return _Reading(paths, stdin, lenient=lenient, remark=remark).entries()


class _Reading:
    """One reading of files: what is wrong with them and what is to be said of them."""

    def __init__(
        self, paths: Sequence[str | Path], stdin: TextIO | None, *, lenient: bool, remark: Remark
    ) -> None:
        self._notes = Notes()
        self._sources = Sources(paths, self._notes, stdin)
        self._lenient = lenient
        self._remark = remark
        self._mistakes: list[Mistake] = []

    def entries(self) -> tuple[Entry, ...]:
        spots = list(objects_of(self._sources, self._notes))
        once = Once([spot for spot in spots if self._has_head(spot)], self._sources, self._notes)
        names = Names(once.spots, self._is_deep, self._notes)
        left_out = {id(spot) for spot in names.left_out}
        entries = self._entries([spot for spot in once.spots if id(spot) not in left_out])
        mistakes = [*self._sources.mistakes, *self._mistakes, *once.mistakes, *names.wrong]
        if mistakes:
            raise ManifestError(_in_file_order(mistakes, self._sources.files))
        self._notes.tell(self._remark)
        return tuple(entries)

    def _is_deep(self, spot: Spot) -> bool:
        return self._sources.is_further_down(spot.document)

    def _has_head(self, spot: Spot) -> bool:
        return self._is_right(spot, list(head_mistakes(spot)))

    def _entries(self, spots: list[Spot]) -> list[Entry]:
        definitions = [spot.value for spot in spots if spot.value["kind"] == "CustomResourceDefinition"]
        cluster_wide = scopes_of(definitions)
        found = []
        for spot in spots:
            entry, mistakes = _entry(spot, cluster_wide)
            refused = list(_refused(spot))
            if self._lenient or is_live(spot):  # what a cluster has is no slip of the pen
                self._note(refused)
            else:
                mistakes += refused
            if self._is_right(spot, mistakes) and entry is not None:
                found.append(entry)
        return found

    def _is_right(self, spot: Spot, mistakes: list[Mistake]) -> bool:
        """Takes note of mistakes. What is further down in a folder is left out for them, the rest is read."""
        found = self._sources.was_found(spot.document)
        if found and any(is_template(mistake.what) for mistake in mistakes):
            self._notes.add(TEMPLATE, spot.place)
        elif self._is_deep(spot):
            self._notes.leave_out(mistakes)
        else:
            self._mistakes += mistakes
        return not mistakes

    def _note(self, mistakes: list[Mistake]) -> None:
        for mistake in mistakes:
            self._notes.add(mistake.what, mistake.place)


def _refused(spot: Spot) -> Iterator[Mistake]:
    """What an API server refuses of an object that could be understood without."""
    if has_known_fields(spot):
        yield from unknown_fields(spot)
        yield from missing_fields(spot.value["kind"], spot)


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
        mistakes += admission_mistakes(kind, spot)
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
