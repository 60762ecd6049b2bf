"""The policy that is checked, in the default profile, where whatever it has is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from mooring.config.catalogue import PluginUse
from mooring.config.load import default_config
from mooring.config.profiles import ProfilePlan
from mooring.engine.engine import Engine
from mooring.errors import PolicyError
from mooring.framework.api.plugin import Plugin
from mooring.framework.running.inspection import built_in
from mooring.plugins.catalogue import make_registry
from mooring.testing.conformance.findings import ConformanceError
from mooring.testing.conformance.vocabulary import Vocabulary
from mooring.testing.conformance.watch import Watch, points_of, watched

PROFILE = "default-scheduler"
FIRST_ONLY = ("bind", "postFilter")  # one answer is enough there: the policy is asked before others
SORTS = "PrioritySort"


class Subject:
    """One policy, ready to be put into engines."""

    def __init__(self, policy: type[Plugin], args: Mapping[str, object]) -> None:
        self.policy, self.name, self.points = policy, policy.name, points_of(policy)
        registry = make_registry()
        try:
            registry.add(policy, trusted=built_in(policy))
        except PolicyError as error:
            raise ConformanceError(f"{policy.__name__} cannot be loaded: {error}") from error
        own = args.get(policy.name)
        self.vocabulary = Vocabulary(policy, policy.Args() if own is None else own)
        self.watch = Watch(policy, self.vocabulary)
        registry._classes[policy.name] = watched(policy, self.watch)  # in its place, whatever file it is of
        if {"less", "sort_key"} & set(self.points):  # there is one that sorts
            registry._defaults = tuple(use for use in registry._defaults if use.name != SORTS)
        if policy.name not in {use.name for use in registry.default_multi_point()}:
            registry.enable(policy.name)
        self._registry = registry
        self._plans = [self._plan(plan, args) for plan in default_config(registry).profiles]

    def engine(self, seed: int) -> Engine:
        return Engine(self._plans, self._registry, seed=seed, keep_scores=True)

    def plugin(self, engine: Engine) -> Plugin:
        return engine.profiles[PROFILE].plugins[self.name]

    def _plan(self, plan: ProfilePlan, args: Mapping[str, object]) -> ProfilePlan:
        points = {point: self._ordered(point, uses) for point, uses in plan.points.items()}
        return msgspec.structs.replace(plan, points=points, args={**plan.args, **args})

    def _ordered(self, point: str, uses: Sequence[PluginUse]) -> tuple[PluginUse, ...]:
        own = tuple(use for use in uses if use.name == self.name)
        return (*own, *(use for use in uses if use.name != self.name)) if point in FIRST_ONLY else tuple(uses)
