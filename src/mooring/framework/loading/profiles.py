"""Makes profiles as a configuration plans them, each plugin once; mistakes in arguments at their places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from mooring.config.document import Origin
from mooring.config.profiles import ProfilePlan
from mooring.errors import ArgsError, ConfigError, FieldMistake, Mistake, wants_the_end
from mooring.framework.api.handle import Handle
from mooring.framework.api.plugin import Plugin
from mooring.framework.loading.registry import Registry
from mooring.framework.metrics.meter import Meter
from mooring.framework.running.budget import Budgets
from mooring.framework.running.profile import Profile

NO_PLUGINS: Mapping[str, Plugin] = MappingProxyType({})


def make_profile(
    plan: ProfilePlan,
    registry: Registry,
    handle_for: Callable[[type[Plugin]], Handle],
    meter: Meter | None = None,
    budgets: Budgets | None = None,
    made: Mapping[str, Plugin] = NO_PLUGINS,
) -> Profile:
    """Makes each plugin of a plan once, however many points it serves, but for those that are made already.
    ConfigError with every mistake that plugins find in their arguments."""
    plugins: dict[str, Plugin] = {}
    mistakes: list[Mistake] = []
    cause: BaseException | None = None
    for name in _names(plan):
        plugin = registry.get(name)
        try:
            plugins[name] = made[name] if name in made else plugin(_args(plan, plugin), handle_for(plugin))
        except BaseException as error:
            if wants_the_end(error):
                raise
            cause = error
            mistakes += _mistakes(name, plan.origins.get(name), error)
    if mistakes:
        raise ConfigError(mistakes) from cause
    return Profile(plan, plugins, meter, budgets)


def same_plugins(plan: ProfilePlan, registry: Registry, known: Mapping[str, Plugin]) -> dict[str, Plugin]:
    """Those of the known plugins that a plan has of the same class and with the same arguments."""
    same = {}
    for name in _names(plan):
        plugin = registry.get(name)
        with suppress(Exception):  # it is made, and that tells what is wrong
            if type(known.get(name)) is plugin and known[name].args == _args(plan, plugin):
                same[name] = known[name]
    return same


def _names(plan: ProfilePlan) -> tuple[str, ...]:
    names = tuple(plan.plugin_names())
    return names if plan.ties in ("Random", "First", *names) else (*names, plan.ties)


def _args(plan: ProfilePlan, plugin: type[Plugin]) -> Any:
    return plan.args.get(plugin.name) or plugin.Args()


def make_profiles(plans: Iterable[ProfilePlan], make: Callable[[ProfilePlan], Profile]) -> dict[str, Profile]:
    """The profiles by name; ConfigError with the mistakes of all of them."""
    profiles: dict[str, Profile] = {}
    errors: list[ConfigError] = []
    for plan in plans:
        try:
            profiles[plan.scheduler_name] = make(plan)
        except ConfigError as error:
            errors.append(error)
    if errors:
        raise ConfigError([mistake for error in errors for mistake in error.mistakes]) from errors[0]
    return profiles


def _mistakes(name: str, origin: Origin | None, error: BaseException) -> Iterator[Mistake]:
    """What a plugin that cannot be made says, at the place of its arguments or of the field it names."""
    if isinstance(error, ArgsError):
        found: Iterable[FieldMistake] = error.mistakes
    else:
        what = str(error) if isinstance(error, ValueError) else f"{type(error).__name__}: {error}"
        found = [FieldMistake((), what)]
    for field, what, _ in found:
        yield Mistake(origin.place(field) if origin else "", f'initializing plugin "{name}": {what}')
