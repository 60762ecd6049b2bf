"""What the configuration needs to know of plugins, and nothing more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

import msgspec

POINTS: Final = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "placementGenerate",
    "placementScore",
)


class PluginUse(msgspec.Struct, frozen=True):
    """A plugin at its turn. The weight matters where scores are summed."""

    name: str
    weight: int = 1


class Catalogue(Protocol):
    """The plugins there are."""

    def names(self) -> Sequence[str]: ...

    def points(self, name: str) -> frozenset[str]:
        """The extension points a plugin implements, by the names in POINTS."""

    def args_type(self, name: str) -> type | None:
        """The Struct of its arguments; None when it takes none."""

    def default_multi_point(self) -> Sequence[PluginUse]:
        """The plugins of a profile that says nothing, in order."""

    def offered(self) -> Sequence[str]:
        """Plugins that are part of every profile, unless a configuration names them somewhere."""

    def load(self, reference: str) -> str:
        """Takes in the plugin class at "package.module:Class" and gives its name; or PolicyError."""


def type_name(point: str) -> str:
    """Kubernetes' word for a plugin of a point: "filter" is a "FilterPlugin"."""
    return f"{point[:1].upper()}{point[1:]}Plugin"
