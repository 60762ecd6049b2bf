"""A small catalogue of plugins, enough to configure with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
import pytest

from mooring.config.catalogue import Catalogue, PluginUse
from mooring.config.durations import Duration
from mooring.errors import Mistake, PolicyError


class FitArgs(msgspec.Struct, frozen=True, rename="camel"):
    ignored_resources: tuple[str, ...] = ()
    strategy: Literal["LeastAllocated", "MostAllocated"] = "LeastAllocated"
    weight: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1


class PreemptionArgs(msgspec.Struct, frozen=True, rename="camel"):
    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100

    def __post_init__(self) -> None:
        if not self.min_candidate_nodes_percentage and not self.min_candidate_nodes_absolute:
            raise ValueError("both cannot be zero")


class FifoArgs(msgspec.Struct, frozen=True, rename="camel"):
    patience: Duration = Duration(30)


class LabelArgs(msgspec.Struct, frozen=True, rename="camel"):
    label: str


FIT_POINTS = frozenset({"preFilter", "filter", "preScore", "score"})
PLUGINS: dict[str, tuple[frozenset[str], type | None]] = {
    "PrioritySort": (frozenset({"queueSort"}), None),
    "FifoSort": (frozenset({"queueSort"}), FifoArgs),
    "NodeName": (frozenset({"filter"}), None),
    "TaintToleration": (frozenset({"filter", "preScore", "score"}), None),
    "NodeResourcesFit": (FIT_POINTS, FitArgs),
    "DefaultPreemption": (frozenset({"postFilter"}), PreemptionArgs),
    "ImageLocality": (frozenset({"score"}), None),
    "NodeLabel": (frozenset({"filter"}), LabelArgs),
    "ByZone": (frozenset({"placementGenerate"}), None),
    "ByRack": (frozenset({"placementGenerate"}), None),
    "DefaultBinder": (frozenset({"bind"}), None),
}
DEFAULTS = (
    PluginUse("PrioritySort"),
    PluginUse("NodeName"),
    PluginUse("TaintToleration", 3),
    PluginUse("NodeResourcesFit"),
    PluginUse("DefaultPreemption"),
    PluginUse("ImageLocality"),
    PluginUse("DefaultBinder"),
)


class SmallCatalogue:
    def __init__(self) -> None:
        self.plugins = dict(PLUGINS)

    def names(self) -> Sequence[str]:
        return list(self.plugins)

    def points(self, name: str) -> frozenset[str]:
        return self.plugins[name][0]

    def args_type(self, name: str) -> type | None:
        return self.plugins[name][1]

    def default_multi_point(self) -> Sequence[PluginUse]:
        return DEFAULTS

    def offered(self) -> Sequence[str]:
        return ()

    def load(self, reference: str) -> str:
        if reference != "policies.spot:SpotGuard":
            raise PolicyError([Mistake("", "there is no such module.")])
        self.plugins["SpotGuard"] = (frozenset({"filter", "score"}), LabelArgs)
        return "SpotGuard"


@pytest.fixture
def catalogue() -> Catalogue:
    return SmallCatalogue()
