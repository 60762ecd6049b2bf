"""The hooks the queue asks: gates before a pod enters, whom it waits with, its place in line, and hints."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from mooring.engine.queue.hints import Hints
from mooring.engine.queue.ordering import Order
from mooring.framework.api import answers
from mooring.framework.api.status import Status
from mooring.framework.running.profile import Profile
from mooring.model.objects import Pod


class QueueHooks:
    """Of all profiles. Never changes."""

    def __init__(self, profiles: Mapping[str, Profile], hints: Hints) -> None:
        self.profiles = profiles
        self.hints = hints
        self.order = Order(next(iter(profiles.values())))
        self.sorts_groups = any(profile.orders for profile in profiles.values())

    def pre_enqueue(self, pod: Pod) -> Status | None:
        """The gate that holds a pod, if one does."""
        uid = pod.metadata.uid
        for name, method, pods in self.profiles[pod.spec.scheduler_name].gates:
            if pods is not None and uid not in pods:
                continue
            try:
                if (answer := method(pod)) is None:
                    continue
                status = answers.status(name, "pre_enqueue", answer)
            except BaseException as error:
                failure = answers.raised(name, "pre_enqueue", error)
                return Status(reasons=(str(failure),)).by(name)
            if status is not None:
                return status
        return None

    def group_of(self, pod: Pod) -> tuple[float, str] | None:
        """Since when a pod waits together with others, and what they are called: what it is sorted by."""
        uid = pod.metadata.uid
        for name, method, pods in self.profiles[pod.spec.scheduler_name].orders:
            if pods is not None and uid not in pods:
                continue
            try:
                if (order := method(pod)) is not None:
                    return _order(name, order)
            except BaseException as error:
                answers.passed_over(name, "order_of", error)  # logged; it is sorted by itself
                return None
        return None


def moment(plugin: str, point: str, answer: Any) -> float:
    """A checked moment."""
    if not (answers.is_number(answer) and isfinite(answer)):
        raise answers.failed(plugin, point, f"returned {answers.shown(answer)}, which is no moment")
    return float(answer)


def _order(plugin: str, answer: Any) -> tuple[float, str]:
    """Since when a pod waits, and with whom."""
    if type(answer) is not tuple or len(answer) != 2 or not issubclass(type(answer[1]), str):
        what = f"returned {answers.shown(answer)}, which is not a moment and a name"
        raise answers.failed(plugin, "order_of", what)
    since, name = answer
    if type(since) is float and type(name) is str and isfinite(since):
        return answer
    return moment(plugin, "order_of", since), str.__str__(name)
