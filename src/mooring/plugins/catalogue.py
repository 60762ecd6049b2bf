"""The plugins there are: Mooring's own, those of installed packages, and the policies of a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from mooring.config.load import default_config
from mooring.config.profiles import ProfilePlan
from mooring.errors import InputError, Mistake, PolicyError
from mooring.framework.api.plugin import Plugin
from mooring.framework.loading.discovery import installed_plugins, plugins_in
from mooring.framework.loading.registry import Registry
from mooring.plugins.defaults import DEFAULT_MULTI_POINT


def make_registry(policies: Path | None = None) -> Registry:
    """All plugins. The policies of a folder are part of every profile, but those that a configuration names:
    they are part of the profiles that name them."""
    registry = Registry(DEFAULT_MULTI_POINT)
    for plugin, own in installed_plugins():
        registry.add(plugin, trusted=own)
    if policies is not None:
        add_policies(registry, plugins_in(policies))
    return registry


def add_policies(registry: Registry, plugins: Iterable[type[Plugin]]) -> None:
    """Registers and offers policies; every mistake in any of them is reported together."""
    mistakes: list[Mistake] = []
    for plugin in plugins:
        try:
            registry.offer(registry.add(plugin))
        except InputError as error:
            mistakes.extend(error.mistakes)
    if mistakes:
        raise PolicyError(mistakes)


def plans_with(
    policies: Sequence[type[Plugin]], args: Mapping[str, object], weights: Mapping[str, int]
) -> tuple[Sequence[ProfilePlan], Registry]:
    """The default profile with policies added, their arguments and weights given in code."""
    registry = make_registry()
    for policy in policies:
        if policy.name not in registry.names():
            registry.add(policy)
        registry.enable(policy.name, weights.get(policy.name, 1))
    plans = default_config(registry).profiles
    return [msgspec.structs.replace(plan, args={**plan.args, **args}) for plan in plans], registry
