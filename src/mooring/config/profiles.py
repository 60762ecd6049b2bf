"""Which plugins run at which extension point of a profile, and in which order.

Pure functions with kube-scheduler's rules: `merge` lays a profile's own lists over the defaults,
`expand` spreads multiPoint over the points each plugin implements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from mooring.config.catalogue import POINTS, PluginUse
from mooring.config.document import Origin

ALL = "*"
QUEUE_SORT, GANGS = "queueSort", "Coscheduling"
MAX_NODE_SCORE = 100
MAX_TOTAL_SCORE = 2**63 - 1


class PointSet(msgspec.Struct, frozen=True):
    """What is switched on and off at one point, or at multiPoint."""

    enabled: tuple[PluginUse, ...] = ()
    disabled: frozenset[str] = frozenset()

    def drops(self, name: str) -> bool:
        return name in self.disabled or ALL in self.disabled


class ProfilePlan(msgspec.Struct, frozen=True, kw_only=True):
    """One profile, ready to be built: every point has its plugins, every plugin its arguments.

    `percentage_of_nodes_to_score` is None when the file does not say. `ties` is "Random", "First"
    or the score plugin that decides among equally good nodes.
    """

    scheduler_name: str
    percentage_of_nodes_to_score: int | None
    points: dict[str, tuple[PluginUse, ...]]
    args: dict[str, object]
    ties: str = "Random"
    adaptive: bool = False
    policy_budget_s: float = 1.0  # for one attempt at a pod; 0: as long as it takes
    over_budget: str = "skip"  # or "fail": what becomes of the pod when a policy's score takes too long
    origins: dict[str, Origin] = {}  # where the file gives a plugin its arguments, if it does
    hooked: tuple[str, ...] = ()  # enabled plugins that serve none of these points, only Mooring's own

    def plugin_names(self) -> tuple[str, ...]:
        """Every plugin of the profile once, in order of first use."""
        used = (use.name for uses in self.points.values() for use in uses)
        return tuple(dict.fromkeys((*used, *self.hooked)))


def merge(defaults: Sequence[PluginUse], custom: PointSet) -> tuple[PluginUse, ...]:
    """The defaults that are not disabled, each replaced in place if the profile has its own entry,
    then the profile's other plugins."""
    own = {use.name: use for use in custom.enabled}
    kept = [own.get(use.name, use) for use in defaults if not custom.drops(use.name)]
    replaced = {use.name for use in kept}
    return (*kept, *(use for use in custom.enabled if use.name not in replaced))


def expand(
    multi_point: Sequence[PluginUse],
    explicit: Mapping[str, PointSet],
    implements: Callable[[str], frozenset[str]],
) -> dict[str, tuple[PluginUse, ...]]:
    """The plugins of every point. `multi_point` is already merged with the defaults."""
    spread: dict[str, list[PluginUse]] = {point: [] for point in POINTS}
    for use in multi_point:
        for point in implements(use.name):
            spread[point].append(use)
    points = {point: _at_point(spread[point], explicit.get(point, PointSet())) for point in POINTS}
    points[QUEUE_SORT] = _one_sorter(points[QUEUE_SORT], explicit.get(QUEUE_SORT, PointSet()))
    return points


def _one_sorter(sorters: tuple[PluginUse, ...], point: PointSet) -> tuple[PluginUse, ...]:
    """Gangs sort the queue only where they are listed for it, or nobody else does: they are everywhere."""
    if len(sorters) < 2 or any(use.name == GANGS for use in point.enabled):
        return sorters
    return tuple(use for use in sorters if use.name != GANGS)


def _at_point(spread: Sequence[PluginUse], point: PointSet) -> tuple[PluginUse, ...]:
    """First what is listed here and at multiPoint, then what only multiPoint brings, then the rest."""
    offered = [use for use in spread if not point.drops(use.name)]
    listed = {use.name for use in point.enabled}
    overriding = {use.name for use in offered} & listed
    ordered = [
        *(use for use in point.enabled if use.name in overriding),
        *(use for use in offered if use.name not in listed),
        *(use for use in point.enabled if use.name not in overriding),
    ]
    return tuple(PluginUse(use.name, use.weight or 1) for use in ordered)


def faults(scheduler_name: str, points: Mapping[str, Sequence[PluginUse]]) -> list[tuple[str, str]]:
    """What keeps the points of a profile from working together, as (point, text)."""
    profile = f'profile with scheduler name "{scheduler_name}"'
    found: list[tuple[str, str]] = []
    if (sorts := len(points["queueSort"])) != 1:
        found.append(("queueSort", f"only one queue sort plugin required for {profile}, but got {sorts}."))
    if not points["bind"]:
        found.append(("bind", f"at least one bind plugin is needed for {profile}."))
    if (generators := len(points["placementGenerate"])) > 1:
        what = f"at most one placement generate plugin is allowed for {profile}, but got {generators}."
        found.append(("placementGenerate", what))
    if sum(use.weight for use in points["score"]) * MAX_NODE_SCORE > MAX_TOTAL_SCORE:
        found.append(("score", "total score of Score plugins could overflow."))
    return found
