"""How good a node's storage is for a pod: by how full it would be, on average over storage classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mooring.plugins.node_resources_fit.args import UtilizationShapePoint
from mooring.plugins.node_resources_fit.strategies import piecewise
from mooring.plugins.volumes.pod_claims import Choice

FULL = 100
POINTS_PER_STEP = 10  # the shape's scores go to 10, a node's to 100
EMPTY_FIRST = (UtilizationShapePoint(utilization=0, score=10), UtilizationShapePoint(utilization=100))

Use = tuple[int, int]  # how much of a class is asked for, and how much there is


class CapacityScore:
    """Scores a choice of volumes. Volumes that exist count before volumes still to be made."""

    def __init__(self, shape: Sequence[UtilizationShapePoint]) -> None:
        points = shape or EMPTY_FIRST
        self._points = [(point.utilization, point.score * POINTS_PER_STEP) for point in points]

    def of(self, choice: Choice, labels: Mapping[str, str]) -> int:
        uses = _bound(choice) if choice.bindings else _to_make(choice, labels)
        scores = [self._worth(*use) for use in uses]
        # Rounded to the nearest, halves up.
        return (2 * sum(scores) + len(scores)) // (2 * len(scores)) if scores else 0

    def _worth(self, asked: int, there: int) -> int:
        full = not there or asked > there
        return piecewise(self._points, FULL if full else asked * FULL // there)


def _bound(choice: Choice) -> Iterable[Use]:
    uses: dict[str, Use] = {}
    for claim, volume in choice.bindings:
        asked, there = uses.get(volume.class_name, (0, 0))
        uses[volume.class_name] = (asked + (claim.size or 0), there + volume.size)
    return uses.values()


def _to_make(choice: Choice, labels: Mapping[str, str]) -> Iterable[Use]:
    """Volumes of a class share its room on the node."""
    uses: dict[str, Use] = {}
    for making in choice.provisions:
        room = making.room_at(labels)
        if room is not None:
            asked, _ = uses.get(making.claim.class_name, (0, 0))
            uses[making.claim.class_name] = (asked + (making.claim.size or 0), room.total or 0)
    return uses.values()
