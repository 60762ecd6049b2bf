"""Kustomizations: which files of a folder are resources, and which only change others.

They are not built. The resources that they list are read as they stand, in the namespace and with the
selecting labels that the kustomization gives; patches and other changes are not made, and a note says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from mooring.config.bounds import excess, read_bounded
from mooring.model.plain import items

NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
CHANGES = (
    "patchesStrategicMerge", "patchesJson6902", "patches", "configurations", "transformers", "generators",
    "validators", "replacements", "configMapGenerator", "secretGenerator", "helmCharts", "openapi",
)  # fmt: skip
SELECTING = ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")
RESOURCES = ("resources", "bases", "components", "crds")


class Kustomizations:
    """The kustomizations among the files of a folder."""

    def __init__(self, files: Iterable[Path]) -> None:
        self._changes: set[Path] = set()
        self._resources: dict[Path, Path] = {}  # a file, and the folder of the kustomization that lists it
        self._settings: dict[Path, dict[str, Any]] = {}  # what each of these folders' kustomizations say
        self._folders: set[Path] = set()
        for file in files:
            if file.name in NAMES:
                self._read(file)

    def is_change(self, file: Path) -> bool:
        """A patch, or values of a generator."""
        return file.resolve() in self._changes

    def is_unlisted(self, file: Path) -> bool:
        """It lies beside a kustomization, and no kustomization lists it."""
        return file.parent.resolve() in self._folders and file.resolve() not in self._resources

    def complete(self, file: Path, data: dict[str, Any]) -> None:
        """Gives an object of a file that is listed what the kustomization gives to all."""
        settings = self._settings.get(self._resources.get(file.resolve(), file), {})
        meta = data.get("metadata")
        if isinstance(namespace := settings.get("namespace"), str) and isinstance(meta, dict):
            meta["namespace"] = namespace
        spec = data.get("spec")
        if isinstance(spec, dict) and data.get("kind") in SELECTING and (labels := _selecting(settings)):
            _put(spec, ("selector", "matchLabels"), labels)
            _put(spec, ("template", "metadata", "labels"), labels)

    def _read(self, file: Path) -> None:
        folder = file.parent.resolve()
        data = _data(file)
        listed = [text for key in RESOURCES for text in _texts(data.get(key))]
        if listed:
            self._folders.add(folder)
        for text in listed:
            self._resources.setdefault((folder / text).resolve(), folder)
        self._settings[folder] = data
        for key in CHANGES:
            self._changes.update((folder / text).resolve() for text in _texts(data.get(key)))


def _selecting(settings: dict[str, Any]) -> dict[str, str]:
    """The labels that are put into selectors as well."""
    found = [settings.get("commonLabels")]
    found += [
        each.get("pairs")
        for each in items(settings, "labels")
        if isinstance(each, dict) and each.get("includeSelectors")
    ]
    return {key: value for pairs in found if isinstance(pairs, dict) for key, value in pairs.items()}


def _put(data: dict[str, Any], path: tuple[str, ...], labels: dict[str, str]) -> None:
    for step in path:
        inner = data.setdefault(step, {})
        if not isinstance(inner, dict):
            return
        data = inner
    data.update(labels)


def _data(file: Path) -> dict[str, Any]:
    """What the file says; nothing if it cannot be read: it is only asked about others."""
    try:
        text = read_bounded(file)
        data = None if excess(text, str(file)) else yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return data if isinstance(data, dict) else {}


def _texts(data: Any) -> Iterator[str]:
    """Every text in it that can be the path of a file."""
    if isinstance(data, str):
        if data and "\n" not in data and "\0" not in data and len(data) < 4096:
            yield data
    elif isinstance(data, dict):
        for value in data.values():
            yield from _texts(value)
    elif isinstance(data, list):
        for value in data:
            yield from _texts(value)
