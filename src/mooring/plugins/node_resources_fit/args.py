"""The arguments of NodeResourcesFit, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from mooring.errors import ArgsError, FieldMistake
from mooring.framework.api.plugin import PluginArgs
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
        ArgsError.unless_right(
            [
                FieldMistake((name,), f"{name} {value} not in valid range [0, {most}]")
                for name, value, most in (
                    ("utilization", self.utilization, MOST_UTILIZATION),
                    ("score", self.score, MOST_SHAPE_SCORE),
                )
                if not 0 <= value <= most
            ]
        )


def unsorted_points(shape: Sequence[UtilizationShapePoint]) -> list[FieldMistake]:
    """Points of a shape that do not lie to the right of the one before."""
    return [
        FieldMistake(("shape", number), "shape: utilization values must be sorted in increasing order")
        for number, (one, two) in enumerate(pairwise(shape), start=1)
        if one.utilization >= two.utilization
    ]


class RequestedToCapacityRatioParam(_Part, frozen=True):
    """Points to draw straight lines between."""

    shape: tuple[UtilizationShapePoint, ...] = ()

    def __post_init__(self) -> None:
        none = [] if self.shape else [FieldMistake(("shape",), "shape: at least one point must be specified")]
        ArgsError.unless_right(none + unsorted_points(self.shape))


class ScoringStrategy(_Part, frozen=True):
    """How free a node should be for the pod."""

    type: Literal["LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"] = "LeastAllocated"
    resources: tuple[ResourceSpec, ...] = CPU_AND_MEMORY
    requested_to_capacity_ratio: RequestedToCapacityRatioParam | None = None

    def __post_init__(self) -> None:
        if self.type == "RequestedToCapacityRatio" and self.requested_to_capacity_ratio is None:
            what = "type RequestedToCapacityRatio needs requestedToCapacityRatio with a shape"
            raise ArgsError([FieldMistake(("type",), what, beside=("requestedToCapacityRatio",))])


class FitArgs(PluginArgs, frozen=True):
    """The filter passes over `ignoredResources`, and over groups of them (the part before `/`)."""

    ignored_resources: tuple[str, ...] = ()
    ignored_resource_groups: tuple[str, ...] = ()
    scoring_strategy: ScoringStrategy = ScoringStrategy()

    def __post_init__(self) -> None:
        given = (
            ("ignoredResources", self.ignored_resources, _no_resource),
            ("ignoredResourceGroups", self.ignored_resource_groups, _no_group),
        )
        ArgsError.unless_right(
            [
                FieldMistake((field, number), f'{field}: "{name}" {what}')
                for field, names, judge in given
                for number, name in enumerate(names)
                if (what := judge(name))
            ]
        )


def _no_resource(name: str) -> str:
    return "" if is_qualified_name(name) else "is not the name of a resource"


def _no_group(name: str) -> str:
    if "/" in name:
        return 'must not contain "/"'
    return "" if is_qualified_name(name) else "is not the name of a group of resources"
