"""Makes profiles as a configuration plans them, each plugin once; mistakes in arguments at their places."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

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
    known: Mapping[str, Plugin] = NO_PLUGINS,
) -> Profile:
    """Makes each plugin of a plan once, however many points it serves; one that is known, of the same class
    and with the same arguments, is not made again. ConfigError with every mistake that plugins find in their
    arguments."""
    names = plan.plugin_names()
    tie_breaker = () if plan.ties in ("Random", "First") or plan.ties in names else (plan.ties,)
    plugins: dict[str, Plugin] = {}
    mistakes: list[Mistake] = []
    cause: BaseException | None = None
    for name in (*names, *tie_breaker):
        plugin = registry.get(name)
        try:
            args = plan.args.get(name) or plugin.Args()
            same = name in known and type(known[name]) is plugin and known[name].args == args
            plugins[name] = known[name] if same else plugin(args, handle_for(plugin))
        except BaseException as error:
            if wants_the_end(error):
                raise
            cause = error
            mistakes += _mistakes(name, plan.origins.get(name), error)
    if mistakes:
        raise ConfigError(mistakes) from cause
    return Profile(plan, plugins, meter, budgets)


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
