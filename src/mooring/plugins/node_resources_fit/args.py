"""The arguments of NodeResourcesFit, and what is wrong with them."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import msgspec

from mooring.framework.plugin import PluginArgs
from mooring.model.names import is_qualified_name
from mooring.plugins.scored_resources import CPU_AND_MEMORY, ResourceSpec

MOST_UTILIZATION = 100
MOST_SHAPE_SCORE = 10


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """A part of the arguments."""


class UtilizationShapePoint(_Part, frozen=True):
    """What a utilization in percent is worth, 0 to 10."""

    utilization: int = 0
    score: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.utilization <= MOST_UTILIZATION:
            raise ValueError(f"utilization {self.utilization} not in valid range [0, {MOST_UTILIZATION}]")
        if not 0 <= self.score <= MOST_SHAPE_SCORE:
            raise ValueError(f"score {self.score} not in valid range [0, {MOST_SHAPE_SCORE}]")


class RequestedToCapacityRatioParam(_Part, frozen=True):
    """Points to draw straight lines between."""

    shape: tuple[UtilizationShapePoint, ...] = ()

    def __post_init__(self) -> None:
        if not self.shape:
            raise ValueError("shape: at least one point must be specified")
        if any(one.utilization >= two.utilization for one, two in pairwise(self.shape)):
            raise ValueError("shape: utilization values must be sorted in increasing order")


class ScoringStrategy(_Part, frozen=True):
    """How free a node should be for the pod."""

    type: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] = "LeastAllocated"
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None

    def __post_init__(self) -> None:
        if self.type == "RequestedToCapacityRatio" and self.requested_to_capacity_ratio is None:
            raise ValueError("type RequestedToCapacityRatio needs requestedToCapacityRatio with a shape")


class FitArgs(PluginArgs, frozen=True):
    """The filter passes over `ignoredResources`, and over groups of them (the part before `/`)."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy()

    def __post_init__(self) -> None:
        for name in self.ignored_resources:
            if not is_qualified_name(name):
                raise ValueError(f'ignoredResources: "{name}" is not the name of a resource')
        for group in self.ignored_resource_groups:
            if "/" in group:
                raise ValueError(f'ignoredResourceGroups: "{group}" must not contain "/"')
            if not is_qualified_name(group):
                raise ValueError(f'ignoredResourceGroups: "{group}" is not the name of a group of resources')
