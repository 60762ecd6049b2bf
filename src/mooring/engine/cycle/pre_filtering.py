"""Before any node is asked: transformers, pre-filters, and plugins that name the node themselves."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.search import Narrowed
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.status import REJECTIONS, Code, Status, unresolvable
from mooring.framework.running.profile import Profile
from mooring.model.objects import Pod

SETS = (set, frozenset)
PRE_FILTER_CODES = frozenset({Code.SKIP, Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE})


class PreFiltered(msgspec.Struct, frozen=True):
    """Go on with these nodes (all when None), or the pod is rejected."""

    narrowed: Narrowed | None = None
    rejection: Status | None = None
    plugins: tuple[str, ...] = ()  # that rejected it together, when no single one did


NOTHING_SAID = PreFiltered()


def transform(profile: Profile, cycle: Cycle, pod: Pod) -> Pod | Status:
    """The pod as the transformers make it, or the status with which one of them refuses it."""
    for name, method, _ in profile.at("before_pre_filter"):
        answer = answers.call(name, "before_pre_filter", method, cycle, pod)
        if type(answer) is Pod:
            pod = answers.same_pod(name, "before_pre_filter", pod, answer)
        elif (status := answers.status(name, "before_pre_filter", answer, REJECTIONS)) is not None:
            return status
    return pod


def pre_filter(pod_class: PodClass, cycle: Cycle, pod: Pod) -> PreFiltered:
    """Runs every pre-filter of the pod's class."""
    rejection: Status | None = None
    skipped, names, narrowing = [], None, []
    for name, method, _ in pod_class.pre_filters:
        answer = answers.call(name, "pre_filter", method, cycle, pod)
        if answer is None:
            continue
        if type(answer) in SETS:
            given = _names(name, answer)
            names = given if names is None else names & given
            narrowing.append(name)
            continue
        status = answers.status(name, "pre_filter", answer, PRE_FILTER_CODES)
        if status is None:
            continue
        if status.code is Code.SKIP:
            skipped.append(name)
        elif status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return PreFiltered(rejection=status)
        else:
            rejection = status  # the others still run; the last one to reject is the one that shows
    cycle.skip_filter = frozenset(skipped)
    if rejection is not None:
        return PreFiltered(rejection=rejection)
    if names is not None and not names:
        return PreFiltered(rejection=_nothing_left(narrowing), plugins=tuple(narrowing))
    narrowed = None if names is None else Narrowed(names, tuple(sorted(narrowing)))
    return _after(pod_class.profile, cycle, pod, narrowed)


def _after(profile: Profile, cycle: Cycle, pod: Pod, narrowed: Narrowed | None) -> PreFiltered:
    if narrowed is None and profile.goes_straight_on:
        return NOTHING_SAID
    names = None if narrowed is None else narrowed.names
    for name, method, _ in profile.at("after_pre_filter"):
        answer = answers.call(name, "after_pre_filter", method, cycle, pod, names)
        if (status := answers.status(name, "after_pre_filter", answer, REJECTIONS)) is not None:
            return PreFiltered(rejection=status)
    for name, method, _ in profile.at("find_one_node")[:1]:
        answer = answers.call(name, "find_one_node", method, cycle, pod, names)
        if issubclass(type(answer), str):
            found = str.__str__(answer)
            if names is not None and found not in names:
                what = f"returned {answers.shown(found)}, which is none of the nodes that are left"
                raise answers.failed(name, "find_one_node", what)
            return PreFiltered(Narrowed(frozenset({found}), (name,)))
        status = answers.status(name, "find_one_node", answer, REJECTIONS | {Code.SKIP})
        if status is not None and status.code is not Code.SKIP:
            return PreFiltered(rejection=status)
    return PreFiltered(narrowed)


def _names(plugin: str, answer: Any) -> frozenset[str]:
    if not all(type(name) is str for name in answer):
        what = f"returned {answers.shown(answer)}, which is not a set of node names"
        raise answers.failed(plugin, "pre_filter", what)
    return frozenset(answer)


def _nothing_left(plugins: list[str]) -> Status:
    names = sorted(plugins)
    what = f"plugin {names[0]}" if len(names) == 1 else f"plugin(s) [{' '.join(names)}] simultaneously"
    return unresolvable(f"node(s) didn't satisfy {what}").by(names[0])
