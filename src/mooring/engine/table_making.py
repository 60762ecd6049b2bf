"""Builds tables of hooks aside: from plans and the plugins there are, beside the table in force."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mooring.cluster.books.book import Book
from mooring.cluster.books.books import two_of_one_name
from mooring.config.feature_gates import FeatureGates
from mooring.config.profiles import ProfilePlan
from mooring.engine.handle import EngineHandle
from mooring.engine.hook_table import HookTable
from mooring.engine.parts import Parts
from mooring.engine.queue.hints import Hints
from mooring.framework.api.handle import Api
from mooring.framework.api.plugin import Plugin
from mooring.framework.loading.profiles import make_profile, make_profiles
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
        known = {} if before is None else {name: p.plugins for name, p in before.profiles.items()}
        books = self._parts.cluster.books
        books.drafted = drafted = dict[str, Book[Any, Any]]()
        try:
            profiles = make_profiles(plans, lambda plan: self._profile(plan, registry, known))
        finally:
            books.drafted = None
        _check_books(profiles, drafted)
        hints = self._hints(profiles.values(), extenders=self._judged_outside)
        follows = 0 if before is None else before.number
        labelsets = self._parts.cluster.labelsets
        return HookTable(profiles, hints, labelsets, (plans, registry), drafted.values(), follows)

    def _profile(
        self, plan: ProfilePlan, registry: Registry, known: Mapping[str, Mapping[str, Plugin]]
    ) -> Profile:
        name = plan.scheduler_name
        meter, same = self._parts.meter, known.get(name, {})
        return make_profile(plan, registry, lambda cls: self._handle(name, cls), meter, self._budgets, same)

    def _handle(self, profile: str, plugin: type[Plugin]) -> EngineHandle:
        handle = EngineHandle(self._parts, profile, plugin, self._gates, self._rng)
        if self.api is not None:
            handle.api = self.api
        return handle


def _check_books(profiles: Mapping[str, Profile], drafted: Mapping[str, Book[Any, Any]]) -> None:
    """Raises BookError when a plugin that stays has another book than one that comes, of one name."""
    for plugin in (plugin for profile in profiles.values() for plugin in profile.plugins.values()):
        for name, book in plugin.handle.books.items() if isinstance(plugin.handle, EngineHandle) else ():
            if name in drafted and drafted[name] is not book:
                raise two_of_one_name(type(book), type(drafted[name]))
