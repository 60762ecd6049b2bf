"""What runs for pods of a class: the plugins of its profile that concern it, at each point.

Classes differ in what they ask for more than in whom they concern, so few pipelines serve all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import msgspec

from mooring.cluster.nodes import NodeTable
from mooring.framework.api.domain import DomainPlugin
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.scope import Scope
from mooring.framework.running.forms import Filter, Form, Scorer
from mooring.framework.running.profile import Hook, Profile
from mooring.model.objects import PodSpec


class Pipeline(msgspec.Struct, eq=False):
    """Sorted out once: plugins and points that are not here cost pods of the class nothing."""

    filters: tuple[Filter, ...]
    scorers: tuple[tuple[Scorer, int], ...]
    pre_filters: tuple[Hook, ...]
    pre_scores: tuple[Hook, ...]
    kept_pre_scores: tuple[Hook, ...]  # those of plugins that keep their answers
    reserves: tuple[Hook, ...]
    permits: tuple[Hook, ...]
    pre_flights: tuple[Hook, ...]
    patches: tuple[Hook, ...]
    keeps: bool  # every plugin that looks at it keeps its answers
    goes_straight_on: bool  # nothing runs before nodes are asked
    holds_freely: bool  # nobody has a say once it has a place
    counts: Filter | None  # the filter that counts what is free, if there is one
    has_room: Callable[[PodSpec, NodeTable, int], bool] | None  # its quick answer about a place


def make_pipeline(
    profile: Profile,
    interested: Collection[str],
    judging: Collection[str],
    silent: Collection[str] = (),
    afresh: Collection[Form] = (),
) -> Pipeline:
    """`interested` are the plugins that have anything to say about the class, `judging` those of them whose
    filters and scores do, `silent` those whose pre-filters do not. `afresh` judge it besides, after them."""

    def concerned(point: str) -> tuple[Hook, ...]:
        return tuple(h for h in profile.at(point) if h.name in interested or h.name not in profile.evaluating)

    pre_filters = tuple(h for h in concerned("pre_filter") if h.name not in silent)
    reserves, permits = concerned("reserve"), concerned("permit")
    pre_scores = tuple(h for h in concerned("pre_score") if h.name in judging or h.name not in interested)
    pre_flights = concerned("pre_bind_pre_flight")
    transformed = profile.at("before_filter") or profile.at("before_score")
    looking = [profile.plugins[name] for name in judging if name in profile.looking]
    filters = tuple(form for form in profile.filters if form.name in judging)
    scorers = tuple((form, weight) for form, weight in profile.scorers if form.name in judging)
    counts = next((form for form in filters if form.one_method and hasattr(form.plugin, "has_room")), None)
    counting: Any = None if counts is None else counts.plugin
    return Pipeline(
        filters=(*filters, *(form for form in afresh if isinstance(form, Filter))),
        scorers=(*scorers, *((form, 1) for form in afresh if isinstance(form, Scorer))),
        pre_filters=pre_filters,
        pre_scores=pre_scores,
        kept_pre_scores=tuple(hook for hook in pre_scores if hook.plugin.scope.kept),
        reserves=reserves,
        permits=permits,
        pre_flights=pre_flights,
        patches=concerned("pre_bind_patch"),
        # A `pre_score` of who keeps nothing runs for every pod, whether its plugin scores or not.
        keeps=not (transformed or afresh)
        and all(map(_keeps_answers, (*looking, *(h.plugin for h in pre_scores)))),
        goes_straight_on=profile.goes_straight_on and not pre_filters,
        holds_freely=not (reserves or permits or pre_flights),
        counts=counts,
        has_room=None if counting is None else counting.has_room,
    )


def _keeps_answers(plugin: Plugin) -> bool:
    """What a plugin reads of a domain can only be followed where it says so, key by key."""
    if plugin.scope is Scope.DOMAIN:
        return isinstance(plugin, DomainPlugin)
    return plugin.scope is not Scope.CLUSTER
