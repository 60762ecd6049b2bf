"""A folder as people keep it: which of its files are manifests, and what the others are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mooring.sim.manifests.kustomizations import NAMES as KUSTOMIZATIONS
from mooring.sim.manifests.kustomizations import Kustomizations
from mooring.sim.manifests.notes import Notes

SUFFIXES = (".yaml", ".yml", ".json")
CHART = "Chart.yaml"
ASIDE = ("node_modules", "testdata", "vendor")

HIDDEN = (
    "not looked at: dot-files, and folders called testdata, vendor or node_modules; "
    "name them to have them read"
)
HELM = "is a Helm chart and not rendered; `helm template CHART | mooring simulate -` places what it makes"
KUSTOMIZATION = (
    "is not built: what it lists is read as it stands; "
    "`kubectl kustomize DIRECTORY | mooring simulate -` places what it makes"
)
PATCH = "is no object of its own but changes others, as a kustomization says; it is not applied"
UNLISTED = "lies beside a kustomization that does not list it; it is not read"


class Folder:
    """The files of a folder and of everything below it, in the order of their names."""

    def __init__(self, path: Path) -> None:
        self.path = path
        everything = sorted(file for file in path.rglob("*") if _may_matter(file) and file.is_file())
        self._hidden = [file for file in everything if self._is_hidden(file)]
        self._files = [file for file in everything if not self._is_hidden(file)]
        self._charts = {file.parent for file in self._files if file.name == CHART}
        self.kustomizations = Kustomizations(self._files)

    @property
    def is_empty(self) -> bool:
        return not self._hidden and not self._files

    def manifests(self, notes: Notes) -> Iterator[Path]:
        """The files that may hold objects; `notes` hear of the others."""
        for file in self._hidden:
            notes.add(HIDDEN, str(file))
        for file in self._files:
            chart = self._chart_of(file)
            if chart is not None:
                notes.add(HELM, str(chart))
            elif file.name in KUSTOMIZATIONS:
                notes.add(KUSTOMIZATION, str(file))
            elif self.kustomizations.is_change(file):
                notes.add(PATCH, str(file))
            elif self.kustomizations.is_unlisted(file):
                notes.add(UNLISTED, str(file))
            else:
                yield file

    def _is_hidden(self, file: Path) -> bool:
        parts = file.relative_to(self.path).parts
        return any(part.startswith(".") or part in ASIDE for part in parts)

    def _chart_of(self, file: Path) -> Path | None:
        """The chart that a file is a part of; the definitions in `crds` are plain objects."""
        for chart in file.parents:
            if chart in self._charts:
                inner = file.relative_to(chart).parts
                return None if inner[0] == "crds" else chart
        return None


def _may_matter(file: Path) -> bool:
    return file.suffix in SUFFIXES or file.name in KUSTOMIZATIONS
