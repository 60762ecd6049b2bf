"""Plugin entries of a profile as names the catalogue knows, each mistake at its entry."""

from __future__ import annotations

from mooring.config.catalogue import POINTS, Catalogue, PluginUse, type_name
from mooring.config.document import Path
from mooring.config.findings import Findings
from mooring.config.older.successors import LEFT_OUT, OF_GROUPS, PLACEMENTS, PLUGINS, removed_plugin
from mooring.config.profiles import ALL, PointSet
from mooring.config.scheduler import PluginEntry, Plugins, PluginSet
from mooring.errors import PolicyError, did_you_mean

MULTI_POINT = "multiPoint"
FOR_GROUPS = "Coscheduling says where groups of pods go."


class Entries:
    """Reads plugin entries of one file. A "package.module:Class" is loaded once."""

    def __init__(self, findings: Findings, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self.findings = findings
        self._loaded: dict[str, str | None] = {}

    def sets(self, path: Path, plugins: Plugins) -> dict[str, PointSet]:
        """The sound entries of every point, and of multiPoint."""
        return {
            point: self._set((*path, "plugins", point), point, plugins.at(point))
            for point in (*POINTS, MULTI_POINT)
        }

    def known_as(self, name: str) -> str:
        """The plugin name behind a reference that an enabled list has loaded; other names as they are."""
        return self._loaded.get(name) or name

    def resolve(self, path: Path, name: str) -> str | None:
        """The plugin an entry means; None, with a mistake noted, when there is none."""
        if ":" in name:
            return self._load(path, name)
        known = self.catalogue.names()
        if name in known:
            return name
        if not name:
            self.findings.note(path, "a plugin needs a name.")
        elif name in PLUGINS:
            self.findings.note(path, removed_plugin(name))
        else:
            self.findings.note(path, f'no plugin named "{name}".{did_you_mean(name, known)}')
        return None

    def _load(self, path: Path, reference: str) -> str | None:
        if reference not in self._loaded:
            self._loaded[reference] = None
            try:
                self._loaded[reference] = self.catalogue.load(reference)
            except PolicyError as error:
                for mistake in error.mistakes:
                    self.findings.note(path, f'cannot load "{reference}": {mistake}')
        return self._loaded[reference]

    def _set(self, path: Path, point: str, entries: PluginSet) -> PointSet:
        uses: dict[str, PluginUse] = {}
        for index, entry in enumerate(entries.enabled):
            at = (*path, "enabled", index, "name")
            name = self._enabled(at, point, entry)
            if name is not None and name in uses:
                kind = type_name(self._first_point(point, name))
                self.findings.note(at, f'plugin "{name}" already registered as "{kind}".')
            elif name is not None:
                uses[name] = PluginUse(name, entry.weight)
        for index, entry in enumerate(entries.disabled):
            self._remark_disabled((*path, "disabled", index, "name"), self.known_as(entry.name))
        disabled = frozenset(self.known_as(entry.name) for entry in entries.disabled)
        return PointSet(tuple(uses.values()), disabled)

    def _remark_disabled(self, path: Path, name: str) -> None:
        known = self.catalogue.names()
        if name in (ALL, *known, *OF_GROUPS, *LEFT_OUT):
            return
        what = (
            removed_plugin(name)
            if name in PLUGINS
            else f"there is no such plugin.{did_you_mean(name, known)}"
        )
        self.findings.remark(path, f'disabling "{name}" has no effect: {what}')

    def _enabled(self, path: Path, point: str, entry: PluginEntry) -> str | None:
        """The plugin to run at a point; None when there is none, or it does nothing there."""
        if entry.name in PLACEMENTS.get(point, OF_GROUPS) and point not in self._points(entry.name):
            self.findings.remark(path, f'enabling "{entry.name}" at {point} has no effect: {FOR_GROUPS}')
            return None
        name = self.resolve(path, entry.name)
        if name is None or point == MULTI_POINT or point in self.catalogue.points(name):
            return name
        self.findings.note(path, f'plugin "{name}" does not extend {type_name(point)} plugin.')
        return None

    def _points(self, name: str) -> frozenset[str]:
        return self.catalogue.points(name) if name in self.catalogue.names() else frozenset()

    def _first_point(self, point: str, name: str) -> str:
        """The point that notices first that a plugin is listed twice."""
        if point != MULTI_POINT:
            return point
        points = self.catalogue.points(name)
        return next((each for each in POINTS if each in points), MULTI_POINT)
