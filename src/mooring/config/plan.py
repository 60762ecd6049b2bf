"""The plan of every profile of a file: its own lists and arguments laid over the defaults."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from mooring.config.catalogue import Catalogue, PluginUse
from mooring.config.document import Path
from mooring.config.durations import Duration, format_duration
from mooring.config.entries import MULTI_POINT, Entries
from mooring.config.findings import Findings
from mooring.config.offers import Offers
from mooring.config.plugin_args import ArgsReader
from mooring.config.profiles import ProfilePlan, expand, faults, merge
from mooring.config.scheduler import KubeSchedulerConfiguration, ProfileEntry
from mooring.config.settings import check_percentage, is_extended_resource

FIT = "NodeResourcesFit"

Points = dict[str, tuple[PluginUse, ...]]


class Planner:
    """Makes the plan of every profile of one file."""

    def __init__(self, findings: Findings, catalogue: Catalogue) -> None:
        self._findings = findings
        self._catalogue = catalogue
        self._entries = Entries(findings, catalogue)
        self._offers = Offers((), ())
        self.policies: tuple[str, ...] = ()  # where the policies on offer run

    def plans(self, raw: KubeSchedulerConfiguration) -> tuple[ProfilePlan, ...]:
        managed = (resource for extender in raw.extenders for resource in extender.managed_resources)
        ignored = [r.name for r in managed if r.ignored_by_scheduler and is_extended_resource(r.name)]
        self._offers = Offers(self._catalogue.offered(), raw.profiles)
        plans: list[ProfilePlan] = []
        for index, entry in enumerate(raw.profiles):
            path = ("profiles", index)
            self._check_name(path, entry.scheduler_name, [plan.scheduler_name for plan in plans])
            plan = self._plan(path, entry, raw.percentage_of_nodes_to_score)
            plans.append(_leaving_to_extenders(plan, ignored))
            self._check_queue_sort(path, plans)
        self.policies = tuple(self._offers.told(plans))
        return tuple(plans)

    def _check_name(self, path: Path, name: str, taken: list[str]) -> None:
        if not name:
            self._findings.field((*path, "schedulerName"), "required when there are several profiles")
        elif name in taken:
            self._findings.field((*path, "schedulerName"), f'duplicate value "{name}"')

    def _plan(self, path: Path, entry: ProfileEntry, percentage: int | None) -> ProfilePlan:
        check_percentage(path, entry.percentage_of_nodes_to_score, self._findings)
        points, hooked = self._points(path, entry)
        enabled = list(dict.fromkeys((*(use.name for uses in points.values() for use in uses), *hooked)))
        reader = ArgsReader(self._entries, path)
        args = reader.read(entry.plugin_config, enabled)
        own = entry.percentage_of_nodes_to_score
        return ProfilePlan(
            scheduler_name=entry.scheduler_name,
            percentage_of_nodes_to_score=percentage if own is None else own,
            points=points,
            args=args,
            ties=reader.options.ties,
            adaptive=reader.options.adaptive,
            policy_budget_s=reader.options.policy_budget,
            over_budget=reader.options.over_budget,
            origins=reader.origins,
            hooked=hooked,
        )

    def _points(self, path: Path, entry: ProfileEntry) -> tuple[Points, tuple[str, ...]]:
        before = len(self._findings.mistakes)
        sets = self._entries.sets(path, entry.plugins)
        defaults = (*self._catalogue.default_multi_point(), *self._offers.to(entry))
        multi_point = merge(defaults, sets.pop(MULTI_POINT))
        points = expand(multi_point, sets, self._catalogue.points)
        if len(self._findings.mistakes) == before:  # else these would only follow from a misspelt name
            for point, what in faults(entry.scheduler_name, points):
                self._findings.note((*path, "plugins", point), what)
        known = self._catalogue.names()
        hooked = (
            use.name for use in multi_point if use.name in known and not self._catalogue.points(use.name)
        )
        return points, tuple(hooked)

    def _check_queue_sort(self, path: Path, plans: list[ProfilePlan]) -> None:
        first, last = plans[0], plans[-1]
        names = [[use.name for use in plan.points["queueSort"]] for plan in (first, last)]
        if any(len(each) != 1 for each in names):
            return
        (one,), (other,) = names
        what = "must be the same for all profiles"
        if one != other:
            sorts = f'"{first.scheduler_name}" sorts with {one}, "{last.scheduler_name}" with {other}'
            self._findings.field((*path, "plugins", "queueSort"), f"{what}: {sorts}")
            return
        for field, here, there in _differences(first.args.get(one), last.args.get(one)):
            at = next((plan.origins[one].path for plan in (last, first) if one in plan.origins), path)
            values = f'{here} in "{first.scheduler_name}" and {there} in "{last.scheduler_name}"'
            self._findings.note((*at, field), f"queueSort: {what}: {field} of {one} is {values}.")


def _differences(one: object, other: object) -> Iterator[tuple[str, str, str]]:
    """The fields of arguments that differ, each with both values as a file would have them."""
    if isinstance(one, msgspec.Struct) and type(one) is type(other):
        for field in msgspec.structs.fields(one):
            here, there = getattr(one, field.name), getattr(other, field.name)
            if here != there:
                yield field.encode_name, _shown(here), _shown(there)


def _shown(value: Any) -> str:
    if isinstance(value, Duration):
        return format_duration(value)
    return json.dumps(msgspec.to_builtins(value, enc_hook=str), ensure_ascii=False)


def _leaving_to_extenders(plan: ProfilePlan, resources: list[str]) -> ProfilePlan:
    """NodeResourcesFit does not look at resources an extender answers for."""
    fit = plan.args.get(FIT)
    if not resources or not isinstance(fit, msgspec.Struct) or not hasattr(fit, "ignored_resources"):
        return plan
    ignored = tuple(dict.fromkeys([*fit.ignored_resources, *resources]))
    changed = msgspec.structs.replace(fit, ignored_resources=ignored)
    return msgspec.structs.replace(plan, args={**plan.args, FIT: changed})
