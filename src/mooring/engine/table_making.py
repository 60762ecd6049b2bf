"""Builds tables of hooks aside: from plans and the plugins there are, beside the table in force."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from mooring.cluster.books.books_to_come import BooksToCome
from mooring.cluster.counts_to_come import CountsToCome
from mooring.config.feature_gates import FeatureGates
from mooring.config.profiles import ProfilePlan
from mooring.engine.handle import EngineHandle
from mooring.engine.hook_table import HookTable
from mooring.engine.parts import Parts
from mooring.engine.queue.hints import Hints
from mooring.framework.api.handle import Api
from mooring.framework.api.plugin import Plugin
from mooring.framework.loading.profiles import make_profile, make_profiles, same_plugins
from mooring.framework.loading.registry import Registry
from mooring.framework.running.budget import Budgets
from mooring.framework.running.profile import Profile


class TableMaker:
    """Makes tables for one engine. Nothing of the engine is changed by that, whatever goes wrong."""

    def __init__(
        self,
        parts: Parts,
        hints: Callable[..., Hints],
        rng: random.Random,
        gates: FeatureGates,
        budgets: Budgets | None,
        *,
        judged_outside: bool,
    ) -> None:
        self._parts = parts
        self._hints = hints
        self._rng = rng
        self._gates = gates
        self._budgets = budgets
        self._judged_outside = judged_outside  # by extenders
        self.api: Api | None = None  # that plugins are attached to

    def make(self, plans: Sequence[ProfilePlan], registry: Registry) -> HookTable:
        """A table to follow the one in force, if there is one."""
        before: HookTable | None = getattr(self._parts, "hooks", None)
        staying = {plan.scheduler_name: _staying(plan, registry, before) for plan in plans}
        books, counts = self._parts.cluster.books, self._parts.cluster.counts
        held = (book for same in staying.values() for p in same.values() for book in p.handle.books.values())
        own = self._parts.gang_places
        books.to_come, counts.to_come = to_come = BooksToCome(books.by_name, (own, *held)), CountsToCome()
        try:
            profiles = make_profiles(plans, lambda plan: self._profile(plan, registry, staying))
        finally:
            books.to_come = counts.to_come = None
        hints = self._hints(profiles.values(), extenders=self._judged_outside)
        follows = 0 if before is None else before.number
        labelsets = self._parts.cluster.labelsets
        gangs, made_of = self._parts.gangs, (plans, registry)
        return HookTable(profiles, hints, labelsets, gangs, made_of, *to_come, follows)

    def _profile(
        self, plan: ProfilePlan, registry: Registry, staying: Mapping[str, Mapping[str, Plugin]]
    ) -> Profile:
        name = plan.scheduler_name
        meter, same = self._parts.meter, staying[name]
        return make_profile(plan, registry, lambda cls: self._handle(name, cls), meter, self._budgets, same)

    def _handle(self, profile: str, plugin: type[Plugin]) -> EngineHandle:
        handle = EngineHandle(self._parts, profile, plugin, self._gates, self._rng)
        if self.api is not None:
            handle.api = self.api
        return handle


def _staying(plan: ProfilePlan, registry: Registry, before: HookTable | None) -> dict[str, Plugin]:
    """The plugins of a profile that stay as they are."""
    known = None if before is None else before.profiles.get(plan.scheduler_name)
    return {} if known is None else same_plugins(plan, registry, known.plugins)
