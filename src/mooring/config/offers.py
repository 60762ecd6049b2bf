"""Where the policies of a folder run: in the profiles that name them, or in all if none does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from mooring.config.catalogue import PluginUse
from mooring.config.plugin_args import OPTIONS
from mooring.config.profiles import ProfilePlan
from mooring.config.scheduler import ProfileEntry

EVERYWHERE = "is enabled in every profile"


class Offers:
    """The policies on offer, and which of them a file names, and how."""

    def __init__(self, offered: Sequence[str], profiles: Sequence[ProfileEntry]) -> None:
        self._offered = offered
        self._listed = {name for profile in profiles for name in _listed(profile)}
        self._named = self._listed.union(*map(_configured, profiles))

    def to(self, profile: ProfileEntry) -> list[PluginUse]:
        """The policies that are part of a profile without being listed in it. Who gives one its arguments
        wants it in that profile, unless another says at which points it is to be."""
        wanted = _configured(profile) - self._listed - _ties(profile)
        return [PluginUse(name) for name in self._offered if name not in self._named or name in wanted]

    def told(self, plans: Sequence[ProfilePlan]) -> Iterator[str]:
        """A sentence for each policy: where it runs, and why there."""
        for name in self._offered:
            where = [plan for plan in plans if name in plan.plugin_names()]
            policy = f'policy "{name}"'
            if name not in self._named and len(where) == len(plans):
                yield f"{policy} {EVERYWHERE}: the configuration does not name it"
            elif not where:
                yield f"{policy} is enabled in no profile"
            elif len(where) == len(plans) == 1 or len(where) < len(plans):
                yield f"{policy} is enabled in {'; '.join(_at(plan, name) for plan in where)}"
            else:
                yield f"{policy} {EVERYWHERE}: {'; '.join(_at(plan, name) for plan in where)}"


def _at(plan: ProfilePlan, name: str) -> str:
    points = [point for point, uses in plan.points.items() if any(use.name == name for use in uses)]
    return f'"{plan.scheduler_name}"' + (f" at {', '.join(points)}" if points else "")


def _listed(profile: ProfileEntry) -> Iterator[str]:
    for field in msgspec.structs.fields(profile.plugins):
        yield from (entry.name for entry in getattr(profile.plugins, field.name).enabled)


def _configured(profile: ProfileEntry) -> set[str]:
    return {config.name for config in profile.plugin_config} | _ties(profile)


def _ties(profile: ProfileEntry) -> set[str]:
    """The plugin that tells equally good nodes apart: it need not be enabled for that."""
    given = (
        c.args.get("ties") for c in profile.plugin_config if c.name == OPTIONS and isinstance(c.args, dict)
    )
    return {name for name in given if isinstance(name, str)}
