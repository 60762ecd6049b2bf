"""How long policies may take: each has so much time for one attempt at a pod.

A policy that needs more is told of, counted, and not asked again in that attempt: its pod fails, or goes
without its score. One that goes on like that is set aside for the pods it delays, and for pods it has not
met, for ten times as long as it took, so that everybody else is scheduled meanwhile; then it is tried again.
Pods it was quick about go on as if nothing were.

The clock is passed in. Without one, as in a simulation, nothing is timed and nothing depends on it.
"""

from __future__ import annotations

import logging
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from mooring.config.profiles import ProfilePlan
from mooring.errors import OverBudget, PointTimedOut
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import Plugin
from mooring.framework.metrics.families import OVER_BUDGET, SET_ASIDE
from mooring.framework.metrics.meter import Meter
from mooring.framework.running.inspection import built_in
from mooring.framework.running.timed_steps import timed_steps
from mooring.framework.running.watching import LABELS
from mooring.model.objects import Pod

log = logging.getLogger("mooring.plugins")

RECENT, TOO_OFTEN = 5, 3  # attempts looked back upon, and how many of them over budget are too many
PAUSE = 10  # times as long as it took: no more than a tenth of all time is spent on it
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 300.0
PODS_KNOWN = 4096  # owners of pods, each of those it is quick and slow about
WARN_EVERY_S = 60.0
STRIDE = 64  # nodes between two looks at the clock, at most
LEFT_OUT = "mooring/left-out"  # where a cycle holds which scores the pod goes without, and why
SCORING = frozenset({"pre_score", "score", "normalize"})  # what can be left out
UNDOING = frozenset({"unreserve", "on_session_close"})  # never left out
BINDING = frozenset({"pre_bind", "bind", "post_bind"})  # they may await: each step is looked at by itself
# Points beside any attempt at a pod: each call is looked at by itself; hints about one change, together.
BESIDE = frozenset(
    {"pod_seen", "pod_bound", "pod_gone", "object_seen", "follow_up", "wake_at"}
    | {"pre_enqueue", "order_of", "group", "next_pod", "domains_of_nodes", "events", "sort_key", "less"}
    | {"on_session_open", "on_session_close"}
)

Method = Callable[..., Any]
Each = TypeVar("Each")


class Budgets:
    """Makes the ledger of each policy of each profile."""

    def __init__(self, clock: Callable[[], float], meter: Meter | None = None) -> None:
        self.clock = clock
        self.meter = meter

    def ledgers(self, plan: ProfilePlan, plugins: dict[str, Plugin]) -> dict[str, Ledgers]:
        if not plan.policy_budget_s:
            return {}
        skips = plan.over_budget == "skip"
        return {
            name: Ledgers(
                Ledger(name, plan, self),
                Ledger(name, plan, self, skips=skips),
                Ledger(name, plan, self, each_call=True),
                Ledger(name, plan, self),
                Ledger(name, plan, self, each_call=True),
                Ledger(name, plan, self),
            )
            for name, plugin in plugins.items()
            if not built_in(type(plugin))
        }


class Ledgers(NamedTuple):
    """A policy's ledgers. A score that takes too long may be left out; all else has to be asked, and has its
    time whatever scoring takes, and whatever is asked beside an attempt, in its midst or after it. Its books
    are told of every pod, as are the event handlers of its sessions, and have time of their own."""

    deciding: Ledger
    scoring: Ledger
    beside: Ledger
    binding: Ledger
    books: Ledger
    handlers: Ledger

    def at(self, point: str) -> Ledger:
        if point in BESIDE:
            return self.beside
        if point in BINDING:
            return self.binding
        return self.scoring if point in SCORING else self.deciding


class Ledger:
    """What a policy takes of the time it has."""

    def __init__(
        self,
        plugin: str,
        plan: ProfilePlan,
        budgets: Budgets,
        *,
        skips: bool = False,
        each_call: bool = False,
        limit_s: float | None = None,
    ) -> None:
        self.plugin = plugin
        self._each_call = each_call  # has the time by itself, whatever was called before it
        self._profile = plan.scheduler_name
        self._limit_s = plan.policy_budget_s if limit_s is None else limit_s
        self._skips = skips
        self._clock, self._meter = budgets.clock, budgets.meter
        self._attempt: object = None
        self._pod: Pod | None = None
        self._spent_s = 0.0
        self._over, self._took = False, ""  # and how long it took, in words
        # The same each time: it is written to the pods.
        self._aside = f"set aside for now, as it goes on taking more than {self._limit_s:g} s for a pod"
        self._recent: deque[bool] = deque(maxlen=RECENT)
        self._aside_until = 0.0
        self._quick: OrderedDict[str, None] = OrderedDict()  # by who owns the pods
        self._slow: OrderedDict[str, tuple[int, float]] = OrderedDict()  # how often, and aside until when
        self._warned_at = float("-inf")

    def watch(self, point: str, method: Method) -> Method:
        """The method, timed; refused when its time is used up."""
        if point in BINDING:
            return self._watch_steps(point, method)
        clock, must, each_call = self._clock, point in UNDOING, self._each_call

        def call(*arguments: Any) -> Any:
            if each_call:
                self.begin(*_subject(point, arguments))
            if not must:
                self.refuse(point)
            start = clock()
            try:
                return method(*arguments)
            except PointTimedOut as error:
                raise self.interrupted(point, error) from error
            finally:
                self._spend(point, clock() - start)

        return call

    def _watch_steps(self, point: str, method: Method) -> Method:
        """Bindings are many at a time, and each of their steps keeps everybody from going on."""

        def call(cycle: Cycle, pod: Pod, node_name: str) -> Any:
            def spend(seconds: float) -> None:
                self.begin(object(), pod)
                self._spend(point, seconds)

            self.begin(object(), pod)
            self.refuse(point)
            return timed_steps(lambda: method(cycle, pod, node_name), self._clock, spend)

        return call

    def paced(self, point: str, nodes: Iterable[Each]) -> Iterator[Each]:
        """The nodes, for a loop that asks about one after the other, as long as there is time."""
        self.refuse(point)
        clock, limit_s, asked, look_at = self._clock, self._limit_s - self._spent_s, 0, 1
        start = clock()
        try:
            for node in nodes:
                yield node
                asked += 1
                if asked == look_at:
                    took_s = clock() - start
                    if took_s > limit_s:
                        break
                    more = STRIDE if not took_s else int(asked * (limit_s - took_s) / took_s) + 1
                    look_at += min(asked, more, STRIDE)
            else:
                return
        finally:
            self._spend(point, clock() - start)
        self._took += f", with {asked} nodes asked"
        raise self._failure(point, self._took)

    def left_out_for(self, pod: Pod) -> str:
        """Why the score is left out for a pod without asking; "" when it is not."""
        if not self._skips or not self._is_aside(_owner(pod)):
            return ""
        self._count(SET_ASIDE, "score")
        return self._failure("score", self._aside).what

    def interrupted(self, point: str, error: PointTimedOut) -> OverBudget:
        """What becomes of a call that was not let come to its end."""
        return self._failure(point, answers.raised(self.plugin, point, error).what)

    def refuse(self, point: str) -> None:
        """Raises when there is no time left for the pod of this attempt."""
        if self._over:
            raise self._failure(point, self._took)
        if self._is_aside(_owner(self._pod)):
            self._count(SET_ASIDE, point)
            raise self._failure(point, self._aside)

    def begin(self, attempt: object, pod: Any) -> None:
        """An attempt at a pod begins, unless it has begun already."""
        if attempt is self._attempt:
            return
        if not self._over and self._spent_s:
            self._went_well(_owner(self._pod))
        self._attempt, self._pod = attempt, pod
        self._spent_s, self._over = 0.0, False

    def _spend(self, point: str, seconds: float) -> None:
        self._spent_s += seconds
        if self._spent_s > self._limit_s and not self._over:
            self._over = True
            self._took = f"took {self._spent_s:.3g} s of {self._limit_s:g} s for one pod"
            self._went_over(point, _owner(self._pod))

    def _went_well(self, owner: str) -> None:
        if self._recent:
            self._recent.append(False)
        if owner:
            self._slow.pop(owner, None)
            _remember(self._quick, owner, None)

    def _went_over(self, point: str, owner: str) -> None:
        now, pause_s = self._clock(), max(SHORTEST_PAUSE_S, PAUSE * self._spent_s)
        self._recent.append(True)
        self._quick.pop(owner, None)
        times = self._slow.get(owner, (0, 0.0))[0] + 1
        until = now + min(pause_s * 2.0 ** (times - 1), LONGEST_PAUSE_S)
        goes_on = sum(self._recent) >= TOO_OFTEN
        if goes_on:
            self._aside_until = now + min(pause_s, LONGEST_PAUSE_S)
        if owner:
            _remember(self._slow, owner, (times, until if goes_on or times >= TOO_OFTEN else 0.0))
        self._count(OVER_BUDGET, point)
        if now - self._warned_at >= WARN_EVERY_S:
            self._warned_at = now
            self._warn(point, goes_on)

    def _is_aside(self, owner: str) -> bool:
        """Whether it is set aside for the pods of an owner."""
        if not self._recent or owner in self._quick:
            return False
        _, until = self._slow.get(owner, (0, 0.0))
        return max(until, self._aside_until) > self._clock()

    def _warn(self, point: str, goes_on: bool) -> None:
        pod = getattr(self._pod, "key", "") or "a pod"
        log.warning(
            "plugin %s of profile %s is over its budget at %s: %s for %s%s",
            self.plugin,
            self._profile,
            point,
            self._took,
            pod,
            "; set aside for pods like it" if goes_on else "",
        )

    def _failure(self, point: str, what: str) -> OverBudget:
        text = answers.failed(self.plugin, point, f"over budget: {what}").what
        return OverBudget(self.plugin, point, text, skips=self._skips)

    def _count(self, family: Any, point: str) -> None:
        if self._meter is not None:
            self._meter.count(family, self.plugin, LABELS.get(point, point), self._profile).value += 1


def leave_out(cycle: Cycle, over: OverBudget) -> None:
    """The pod goes without a score that takes too long, if that is what is wanted."""
    if not over.skips:
        raise over
    left_out(cycle, {over.plugin: str(over)})


def left_out(cycle: Cycle, why: Mapping[str, str]) -> None:
    """Notes which scores a pod goes without, and why."""
    if why:
        cycle.skip_score = cycle.skip_score.union(why)
        cycle.write(LEFT_OUT, {**cycle.read(LEFT_OUT, {}), **why})


def _subject(point: str, arguments: tuple[Any, ...]) -> tuple[object, Any]:
    """What a call beside any attempt is part of, and the pod it is about."""
    if point != "events":
        return object(), arguments[0] if arguments else None
    _, old, new = arguments
    changed = old if new is None else new
    return object() if changed is None else changed, None


def _owner(pod: Any) -> str:
    """Who is behind a pod: pods of one owner are alike. "" when no pod is known by name."""
    if not isinstance(pod, Pod):
        return ""
    owners = pod.metadata.owner_references
    return next((owner.uid for owner in owners if owner.controller), pod.metadata.uid)


def _remember(table: OrderedDict[str, Any], owner: str, value: Any) -> None:
    table[owner] = value
    table.move_to_end(owner)
    if len(table) > PODS_KNOWN:
        table.popitem(last=False)
