"""The plugins that are known by name, and where each came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

import msgspec

from mooring.config.catalogue import PluginUse
from mooring.errors import PolicyError
from mooring.framework.api.plugin import Plugin, PluginArgs
from mooring.framework.api.points import POINTS
from mooring.framework.loading.discovery import class_at
from mooring.framework.loading.rehearsal import rehearse
from mooring.framework.running.inspection import (
    built_in,
    check_plugin,
    implemented_points,
    place_of,
    source_of,
)
from mooring.model.texts import clean


class Registry:
    """Plugin classes by name. Serves the configuration as its catalogue."""

    def __init__(self, defaults: Sequence[PluginUse] = ()) -> None:
        self._classes: dict[str, type[Plugin]] = {}
        self._defaults = tuple(defaults)
        self._offered: list[str] = []

    @classmethod
    def of(cls, plugins: Mapping[str, Plugin]) -> Self:
        """The classes of plugins that were made already, by name."""
        registry = cls()
        registry._classes = {name: type(plugin) for name, plugin in plugins.items()}
        return registry

    def add(self, plugin: type[Plugin], *, trusted: bool = False) -> str:
        """Registers a class after looking it over. A trusted one (built in) is not rehearsed."""
        check_plugin(plugin)
        if clean(plugin.name) != plugin.name:
            raise PolicyError.at(
                place_of(plugin), f"its name, {plugin.name!a}, is no text that can be written"
            )
        known = self._classes.get(plugin.name)
        if known is not None and known is not plugin and _another(known, plugin):
            where = known.__module__ if built_in(known) else place_of(known)
            what = f'there is already a plugin named "{plugin.name}" ({where}): give this one another `name`'
            raise PolicyError.at(place_of(plugin), what)
        if not trusted:
            rehearse(plugin)
        self._classes[plugin.name] = plugin
        return plugin.name

    def enable(self, name: str, weight: int = 1) -> None:
        """Makes a plugin part of every profile that does not disable it."""
        self._defaults = (*self._defaults, PluginUse(name, weight))

    def offer(self, name: str) -> None:
        """Makes a plugin part of every profile, unless the configuration names it somewhere."""
        self._offered.append(name)

    def get(self, name: str) -> type[Plugin]:
        return self._classes[name]

    # the catalogue a configuration is checked against

    def names(self) -> Sequence[str]:
        return sorted(self._classes)

    def points(self, name: str) -> frozenset[str]:
        """kube-scheduler's names of the points at which a plugin can be enabled."""
        found = implemented_points(self._classes[name])
        return frozenset(POINTS[point].config for point in found if POINTS[point].config)

    def args_type(self, name: str) -> type[msgspec.Struct] | None:
        args = self._classes[name].Args
        return None if args is PluginArgs else args

    def default_multi_point(self) -> Sequence[PluginUse]:
        return [use for use in self._defaults if use.name in self._classes]

    def offered(self) -> Sequence[str]:
        return tuple(self._offered)

    def load(self, reference: str) -> str:
        """Registers `package.module:Class` and returns its plugin name."""
        return self.add(class_at(reference))


def _another(known: type[Plugin], plugin: type[Plugin]) -> bool:
    """Whether two classes are not one that was loaded again."""
    return (source_of(known), known.__qualname__) != (source_of(plugin), plugin.__qualname__)
