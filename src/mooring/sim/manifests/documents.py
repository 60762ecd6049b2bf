"""The objects of documents: lists taken apart, what is no object passed over with a note."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mooring.config.document import Document
from mooring.sim.manifests.located_value import Path as Steps
from mooring.sim.manifests.located_value import Spot, is_live
from mooring.sim.manifests.not_objects import (
    NOT_KUBERNETES,
    PATCH,
    TEMPLATE,
    is_no_object,
    is_patch,
    is_template,
    tool_configuration,
)
from mooring.sim.manifests.notes import Notes
from mooring.sim.manifests.removed_versions import modernise
from mooring.sim.manifests.sources import Sources


def objects_of(sources: Sources, notes: Notes) -> Iterator[Spot]:
    """Every object of the sources, each of a version that Kubernetes has."""
    for document in sources.documents():
        for spot in _objects(document, (), document.data):
            if not _is_passed_over(spot, sources, notes):
                yield _prepared(spot, sources, notes)


def _objects(document: Document, path: Steps, data: Any) -> Iterator[Spot]:
    """The objects of a document: itself, or the elements of a list, however deep."""
    if isinstance(data, dict) and _is_list(data):
        for index, item in enumerate(data["items"] or ()):
            _name_kind(item, data)
            yield from _objects(document, (*path, "items", index), item)
    else:
        yield Spot.of_object(document, path, data)


def _is_list(data: dict[str, Any]) -> bool:
    kind = data.get("kind")
    return isinstance(kind, str) and kind.endswith("List") and isinstance(data.get("items", ""), list | None)


def _name_kind(item: Any, parent: dict[str, Any]) -> None:
    """The elements of a PodList need not say that they are Pods."""
    kind = parent["kind"].removesuffix("List")
    if isinstance(item, dict) and kind and "kind" not in item:
        item["kind"] = kind
        item.setdefault("apiVersion", parent.get("apiVersion"))


def _is_passed_over(spot: Spot, sources: Sources, notes: Notes) -> bool:
    if sources.was_found(spot.document) and is_no_object(spot.value):
        notes.add(NOT_KUBERNETES, spot.document.file)
    elif not isinstance(spot.value, dict):
        return False
    elif what := tool_configuration(spot.value):
        notes.add(what, spot.place)
    elif sources.was_found(spot.document) and _has_placeholders(spot.child("metadata")):
        notes.add(TEMPLATE, spot.document.file)
    elif not is_live(spot) and is_patch(spot.value):
        notes.add(PATCH, spot.place)
    else:
        return False
    return True


def _has_placeholders(metadata: Spot) -> bool:
    return any(is_template(str(metadata.child(field).value)) for field in ("name", "namespace"))


def _prepared(spot: Spot, sources: Sources, notes: Notes) -> Spot:
    value = spot.value
    if not isinstance(value, dict):
        return spot
    sources.complete(spot.document, value)
    if what := modernise(value):
        notes.add(what, spot.child("apiVersion").place)
    return spot
