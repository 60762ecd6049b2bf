"""Watches plugins at work: how often each is called, and in some cycles for how long.

A watched method answers exactly what the method answers. Only profiles with a meter have any.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from mooring.framework.api.points import POINTS
from mooring.framework.api.status import Code, Status
from mooring.framework.metrics.families import (
    PLUGIN_EVALUATIONS,
    PLUGIN_SECONDS,
    POINT_SECONDS,
    PREEMPTION_ATTEMPTS,
)
from mooring.framework.metrics.meter import Count, Lazy, Meter, Samples

# kube-scheduler's label of each point; a point that is not here is not watched.
GATE = {"pre_enqueue": "PreEnqueue"}  # timed, and never in between: every pod passes
LABELS = {
    "add_pod": "PreFilterExtensionAddPod",
    "remove_pod": "PreFilterExtensionRemovePod",
    "normalize": "ScoreExtensionNormalize",
} | {
    point: point.title().replace("_", "")  # PreFilter
    for point in (
        "pre_filter", "filter", "post_filter", "may_evict", "pre_score", "score", "reserve", "unreserve",
        "permit", "pre_bind_pre_flight", "pre_bind", "bind", "post_bind", "before_pre_filter",
        "after_pre_filter", "before_filter", "before_score", "after_post_filter", "allocate", "resize_pod",
        "next_pod", "find_one_node", "pre_bind_patch",
    )
}  # fmt: skip
COUNTED = frozenset({"pre_filter", "filter", "pre_score", "score"})
PREEMPTS = frozenset({"DefaultPreemption"})  # plugins whose PostFilter is an attempt to preempt

CODE_NAMES = {code: code.name.title().replace("_", "") for code in Code}  # UnschedulableAndUnresolvable
SUCCESS, ERROR = CODE_NAMES[Code.SUCCESS], CODE_NAMES[Code.ERROR]

Method = Callable[..., Any]


def code_name(answer: Any) -> str:
    """The word for what a plugin answered; whatever is no status is a success."""
    if not issubclass(type(answer), Status):
        return SUCCESS
    return CODE_NAMES[answer.code] if type(answer.code) is Code else ERROR


def watched(meter: Meter, profile: str, plugin: str, point: str, method: Method) -> Method:
    """The method, counted and timed as far as its point is."""
    if point not in LABELS:
        return method
    label, arity = LABELS[point], len(POINTS[point].parameters)
    if POINTS[point].may_await:
        return _watched(meter, _timed_awaiting(meter, plugin, label, method), method)
    seen = timed(meter, plugin, point, method)
    if point == "post_filter" and plugin in PREEMPTS:
        return _counted(meter, meter.count(PREEMPTION_ATTEMPTS), seen, method)
    if point in COUNTED:
        counted = _counted_about_nodes if arity == 3 else _counted
        return counted(meter, meter.count(PLUGIN_EVALUATIONS, plugin, label, profile), seen, method)
    return _watched(meter, seen, method)


def timed(meter: Meter, plugin: str, point: str, method: Method) -> Method:
    """The method, timed at every call."""
    label = LABELS.get(point) or GATE[point]
    seconds = Lazy[str, Samples](lambda status: meter.samples(PLUGIN_SECONDS, plugin, label, status))
    clock = meter.clock

    def call(*arguments: Any) -> Any:
        start, status = clock(), ERROR
        try:
            answer = method(*arguments)
            status = code_name(answer)
            return answer
        finally:
            seconds[status].observe(clock() - start)

    return call


def _watched(meter: Meter, timed: Method, method: Method) -> Method:
    return lambda *arguments: (timed if meter.sampled else method)(*arguments)


def _counted(meter: Meter, count: Count, timed: Method, method: Method) -> Method:
    def call(*arguments: Any) -> Any:
        count.value += 1
        return (timed if meter.sampled else method)(*arguments)

    return call


def _counted_about_nodes(meter: Meter, count: Count, timed: Method, method: Method) -> Method:
    def call(cycle: Any, pod: Any, nodes: Any) -> Any:
        count.value += 1
        return (timed if meter.sampled else method)(cycle, pod, nodes)

    return call


def _timed_awaiting(meter: Meter, plugin: str, label: str, method: Method) -> Method:
    async def call(*arguments: Any) -> Any:
        start, status = meter.clock(), ERROR
        try:
            answer = method(*arguments)
            if inspect.isawaitable(answer):
                answer = await answer
            status = code_name(answer)
            return answer
        finally:
            meter.samples(PLUGIN_SECONDS, plugin, label, status).observe(meter.clock() - start)

    return call


class TimedPoint:
    """Times everything that runs at a point, for the length of a `with`; Error when it raises."""

    __slots__ = ("_label", "_meter", "_profile", "_start")

    def __init__(self, meter: Meter | None, profile: str, label: str) -> None:
        self._meter, self._profile, self._label = meter, profile, label

    def __enter__(self) -> None:
        if self._meter is not None:
            self._start = self._meter.clock()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._meter is not None:
            took_s, status = self._meter.clock() - self._start, SUCCESS if kind is None else ERROR
            self._meter.samples(POINT_SECONDS, self._label, status, self._profile).observe(took_s)
