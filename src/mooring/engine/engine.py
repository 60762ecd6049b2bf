"""The engine: events in, decisions out.

Pure: it does no I/O, reads no clock and draws no randomness but from the seed it was given. The same
events at the same times give the same decisions, in production, in the simulator and in a test.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import Any

from mooring.cluster.cluster import Cluster
from mooring.cluster.pods import Placed
from mooring.cluster.view import ClusterView
from mooring.config.feature_gates import FeatureGates
from mooring.config.profiles import ProfilePlan
from mooring.config.scheduler import Extender
from mooring.engine.cycle.permit_waiting import PermitWait, Reserved
from mooring.engine.decisions import Bind, Decision
from mooring.engine.events import Bound, Consulted, Event
from mooring.engine.extenders.extenders import Extenders
from mooring.engine.handle import EngineHandle
from mooring.engine.intake.objects import Objects
from mooring.engine.intake.refusals import Refusals
from mooring.engine.kept_beside_fresh import check_kept
from mooring.engine.metering.metered import Outcomes, parts_for
from mooring.engine.placement.classes import ProfileClasses, Specs
from mooring.engine.placement.fit_error import FitError, one_node
from mooring.engine.placement.full_evaluation import FullEvaluation
from mooring.engine.placement.nominator import Nominator
from mooring.engine.queue.backoff import Backoff
from mooring.engine.queue.ordering import Order
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.engine.story import BEST_SHOWN, Stories, Story
from mooring.errors import InvariantError, PluginFailed
from mooring.framework.api import answers
from mooring.framework.api.handle import Api
from mooring.framework.api.preparation import LooksAhead
from mooring.framework.api.session import Session, Task
from mooring.framework.api.status import Code, Status
from mooring.framework.loading.profiles import make_profile, make_profiles
from mooring.framework.loading.registry import Registry
from mooring.framework.metrics.meter import Meter
from mooring.framework.running.binding import BindingState
from mooring.framework.running.budget import Budgets
from mooring.framework.running.profile import Hook, Profile
from mooring.model.objects import Pod

BUSY = "the engine is at work: it cannot be asked from within"
FOLLOW_UP_S = 1.0  # plugins follow up at least so often, however many pods there are to decide about


class Engine:
    """One scheduler: its cluster, its queue, its profiles."""

    def __init__(
        self,
        plans: Sequence[ProfilePlan],
        registry: Registry,
        *,
        seed: int = 0,
        backoff: Backoff = Backoff(),  # noqa: B008 - frozen
        gates: FeatureGates | None = None,
        keep_scores: bool = False,
        extenders: Sequence[Extender] = (),
        meter: Meter | None = None,
        budgets: Budgets | None = None,
    ) -> None:
        parts = parts_for(meter)
        self.meter = meter
        self._budgets = budgets
        self.outcomes = None if meter is None else Outcomes(meter)
        self._gates = gates or FeatureGates()
        self.tells_expectations = self._gates.enabled("NominatedNodeNameForExpectation")
        self._rng = random.Random(seed)
        self.deciding = False  # a pod is being tried, or given up
        self.cluster = Cluster()
        self._books = self.cluster.books
        self.view = ClusterView(self.cluster.nodes, self.cluster.pods)
        self.objects = Objects()
        self.nominator = Nominator()
        self.placer = parts.placer(self.cluster, self.view, self.nominator, self._rng)
        self.placer.keep_scores = keep_scores
        self.profiles = make_profiles(plans, lambda plan: self._profile(plan, registry))
        self.classes = {name: ProfileClasses(p, self.cluster.labelsets) for name, p in self.profiles.items()}
        self.specs = Specs()
        self.extenders = Extenders(self, extenders) if extenders else None
        first = next(iter(self.profiles.values()))
        hints = parts.hints(self.profiles.values(), extenders=bool(extenders))
        self.queue = parts.queue(Order(first), self._pre_enqueue, hints, backoff)
        self.queue.order_of = self.group_of if any(p.orders for p in self.profiles.values()) else None
        plugins = (plugin for profile in self.profiles.values() for plugin in profile.plugins.values())
        self._looking_ahead = list({type(p): p for p in plugins if isinstance(p, LooksAhead)}.values())
        self.stories = Stories(self.cluster, FullEvaluation(self.cluster, self.view))
        self.waiting: dict[str, PermitWait] = {}
        self.binding: dict[str, Reserved] = {}
        self.attempts = 0  # so far: each has its number
        self._busy = self._settling = False
        self._to_settle: deque[tuple[PermitWait, Status | None]] = deque()
        self.scores: dict[str, dict[str, int]] = {}
        self.session: Session | None = None  # the one that is open
        self.now = 0.0
        self._decided: list[Decision] = []
        self.cycle = parts.cycle(self)
        grouped = any(profile.at("group") for profile in self.profiles.values())
        self._groups = parts.groups(self) if grouped else None
        self._ingest = parts.ingest(self)
        self._takers = self._ingest.takers
        self.refusals = Refusals(self)
        self._refused = self.refusals.standing
        self._next_pod = next((p for profile in self.profiles.values() for p in profile.at("next_pod")), None)
        self._follow_ups = [hook for profile in self.profiles.values() for hook in profile.at("follow_up")]
        self._followed_up_at = 0.0
        self._wakers = [hook for profile in self.profiles.values() for hook in profile.at("wake_at")]

    # the three things that can be asked

    def handle(self, event: Event, now: float) -> list[Decision]:
        """Takes one event in. Returns what it decides at once: a pod let go from permit, say."""
        self.now = now
        before = self._busy
        self._busy = True
        try:
            self._takers[type(event)](event, now)
            if self._refused:
                self.refusals.went_well(event)
        except InvariantError:
            raise
        except Exception as error:
            self.refusals.refuse(event, error)
        finally:
            self._busy = before
        if self._books.unattended:
            self._follow_books()
        return self._flush() if self._decided else []

    def schedule(self, now: float) -> list[Decision] | None:
        """One scheduling cycle for the next pod, or None when no pod is ready."""
        if self._busy:
            raise RuntimeError(BUSY)
        self._busy = True
        try:
            self.now = now
            if self._follow_ups and now - self._followed_up_at >= FOLLOW_UP_S:
                self._follow_up()
            if self._books.unattended:
                self._follow_books()
            queued = self.queue.pop() if self._next_pod is None else self._next(self._next_pod)
            if queued is None:
                self._follow_up()
                return self._flush() or None
            meta = queued.pod.metadata
            if meta.deletion_timestamp is not None or meta.uid in self.cluster.pods.by_uid:
                self.queue.delete(meta.uid)
                return self._flush()
            self.deciding = True
            decisions = None
            if (groups := self._groups) is not None and (queued.group is not None or groups.asks_all):
                decisions = groups.run(queued, now)
            if decisions is None:
                decisions = self.cycle.run(queued, now)
            return decisions + self._flush() if self._decided else decisions
        finally:
            self._busy = self.deciding = False

    def wake_at(self) -> float | None:
        """The next moment at which a Tick can change something by itself."""
        moments = [wait.deadline for wait in self.waiting.values()]
        if (moment := self.queue.wake_at()) is not None:
            moments.append(moment)
        for name, method, _ in self._wakers:
            try:
                own = method()
                if own is not None:
                    moments.append(_moment(name, "wake_at", own))
            except BaseException as error:
                answers.passed_over(name, "wake_at", error)  # logged; it is woken with the others
        return min(moments, default=None)

    def catch_up(self) -> bool:
        """A bit of work that may save time later, when there is nothing else to do. True: there is more."""
        return any(plugin.catch_up() for plugin in self._looking_ahead)

    def attach(self, api: Api) -> None:
        """Gives binding plugins the API server their calls go to."""
        for profile in self.profiles.values():
            for plugin in profile.plugins.values():
                plugin.handle.api = api

    def story(self, key: str, best: int = BEST_SHOWN) -> Story | None:
        """Why the pod of that `namespace/name` is where it is, or waits; with so many of the best nodes."""
        return self.stories.tell(key, best)

    # what the parts of the engine do for each other

    def settle(self, wait: PermitWait, status: Status | None) -> None:
        """A pod that waited at permit is let go, or rejected. One after the other: plugins that hear of it
        may let go of others, who may be many."""
        self.waiting.pop(wait.pod.metadata.uid, None)
        self._to_settle.append((wait, status))
        if self._settling:
            return
        before, self.deciding, self._settling = self.deciding, True, True
        try:
            while self._to_settle:
                self._settle(*self._to_settle.popleft())
        finally:
            self.deciding, self._settling = before, False

    def _settle(self, wait: PermitWait, status: Status | None) -> None:
        uid = wait.pod.metadata.uid
        if self.outcomes is not None:
            self.outcomes.waited(wait, status, self.now)
        if status is None:
            self._bind_or_fail(wait.reserved)
            return
        self.cycle.give_back(wait.reserved)
        if status.code is Code.ERROR:  # its place was taken from it: whoever needs that goes on at once
            self._ingest.place_freed(wait.pod, wait.node_name, self.now)
            self._fail_reserved(wait.reserved, f"waiting on permit for pod: {status.message}", None)
            return
        why = one_node(self.cluster.nodes, wait.node_name, status)
        self._fail_reserved(wait.reserved, why.message(), why)
        # Only now, so that the pod is not woken by the place it has given back itself.
        self._ingest.place_freed(wait.pod, wait.node_name, self.now, but=uid, given_back=True)

    def binding_state(self, bind: Bind) -> BindingState | None:
        """What plugins that bind have to know of a pod; None when that attempt at it is over."""
        found = self.binding.get(bind.pod.metadata.uid)
        if found is None or found.cycle.attempt != bind.attempt:
            return None
        return BindingState(found.profile, found.cycle)

    def bound(self, event: Bound, now: float) -> None:
        """A pod was bound. Nothing is left to undo, unless it was not we who bound it."""
        uid = event.pod.metadata.uid
        reserved = self.binding.pop(uid, None)
        if (wait := self.waiting.pop(uid, None)) is not None:
            wait.settled = True  # somebody else was faster: there is nothing left to permit
            self.cycle.unreserve(wait.reserved)
        elif reserved is not None and reserved.node_name != event.node:
            self.cycle.unreserve(reserved)
        elif reserved is not None:
            if self.outcomes is not None:
                self.outcomes.scheduled(reserved, now)
            for name, method, pods in reserved.profile.bound:
                if pods is None or uid in pods:
                    self._tell_bound(name, method, reserved)

    def _tell_bound(self, plugin: str, method: Callable[..., Any], reserved: Reserved) -> None:
        """What plugins make of a bind follows from the event, so that it is the same whoever binds."""
        try:
            method(reserved.pod, reserved.node_name)
        except BaseException as error:
            answers.raised(plugin, "pod_bound", error)  # logged; the pod is bound

    def bind_failed(self, uid: str, message: str) -> None:
        """A pod could not be bound: its place is free again, and it backs off as after an error."""
        reserved = self.binding.pop(uid, None)
        if reserved is None:
            return
        self.cycle.give_back(reserved)
        self._ingest.place_freed(reserved.pod, reserved.node_name, self.now, given_back=True)
        self._fail_reserved(reserved, message, None)

    def consulted(self, event: Consulted) -> None:
        """An extender has answered, or has not in time."""
        if self.extenders is not None:
            self._decided.extend(self.extenders.heard(event, self.now))

    def evict_failed(self, uid: str, by: str) -> None:
        """A pod could not be evicted: it stays, and who it was to make room for looks again."""
        if uid in self.cluster.pods.by_uid:
            with self.cluster.statement() as statement:
                statement.keep(uid, assumed=uid in self.binding)
        self.activate([pod for pod in self._ingest.pending.values() if pod.key == by])

    def forget(self, uid: str) -> None:
        """Nothing is known of a pod any more but its place, if it has one."""
        self._ingest.forget(uid)
        self.binding.pop(uid, None)
        self.waiting.pop(uid, None)

    def arrived(self, placed: Placed) -> None:
        """The API server shows a pod on its node."""
        for plugin in self._looking_ahead:
            plugin.arrived(placed)

    def decide(self, decision: Decision) -> None:
        """Adds to what is decided by what is going on."""
        self._decided.append(decision)

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

    def network(self) -> dict[str, tuple[str, ...]]:
        """The network domains each node is in, the widest first, as far as a plugin knows them."""
        for profile in self.profiles.values():
            for name, method, _ in profile.at("domains_of_nodes"):
                try:
                    return _domains(method())
                except BaseException as error:
                    answers.passed_over(name, "domains_of_nodes", error)  # logged; it is only shown
        return {}

    def activate(self, pods: Iterable[Pod], *, deciding: bool = False) -> None:
        self.queue.activate(pods, self.now, deciding=deciding)

    def observe(self, session: Session | None) -> None:
        """Has a session told of pods that take and give back places."""
        self.session = session
        self.cluster.observers = [] if session is None else [SessionObserver(session)]

    def check(self, *, afresh: bool = False) -> None:
        """Raises InvariantError, or fails an assertion, unless everything agrees. With `afresh`, what is kept
        is also compared with what evaluating every node gives."""
        self.cluster.check()
        assert not self._books.open
        self.queue.check()
        if afresh:
            check_kept(self)
        self.placer.kept.check()
        for uid in (*self.waiting, *self.binding):
            placed = self.cluster.pods.by_uid.get(uid)
            assert placed is not None or uid not in self.waiting
        for uid in self.extenders.consulting if self.extenders is not None else ():
            assert uid in self.queue.in_flight.pods, uid
        for queued in self.queue:
            uid = queued.pod.metadata.uid
            assert uid not in self.binding, queued
            assert uid not in self.cluster.pods.by_uid or uid in self.waiting, queued

    def _bind_or_fail(self, reserved: Reserved) -> None:
        try:
            self._decided.append(self.cycle.bind(reserved))
        except PluginFailed as failure:
            self.cycle.give_back(reserved)
            self._ingest.place_freed(reserved.pod, reserved.node_name, self.now, given_back=True)
            self._fail_reserved(reserved, str(failure), None)

    def _fail_reserved(self, reserved: Reserved, message: str, why: FitError | None) -> None:
        queued, uid = reserved.queued, reserved.pod.metadata.uid
        fresh = self._ingest.pending.get(uid)
        if fresh is None:
            self.queue.delete(uid)  # deleted meanwhile: nobody waits for it any more
            return
        queued.pod = fresh
        self._decided.append(self.cycle.fail(queued, self.now, message, why, ""))

    def _follow_up(self) -> None:
        """Plugins have written what follows from what was seen and decided. Never before pods are decided."""
        self._followed_up_at = self.now
        for hook in self._follow_ups:
            try:
                hook.method()
            except BaseException as error:
                answers.passed_over(hook.name, "follow_up", error)

    def _follow_books(self) -> None:
        """Broken books are made anew, and whoever waits for a node that was touched is judged again."""
        for name, nodes in self._books.attend().items():
            self._ingest.touched(name, nodes, self.now)

    def _next(self, wish: Hook) -> QueuedPod | None:
        """The pod a plugin wants to be next, if it waits; otherwise the queue's."""
        try:
            if (pod := wish.method()) is not None:
                queued = self.queue.take(answers.uid(wish.name, "next_pod", pod))
                return queued or self.queue.pop()
        except BaseException as error:
            answers.passed_over(wish.name, "next_pod", error)  # the queue has its own order
        return self.queue.pop()

    def _flush(self) -> list[Decision]:
        decided, self._decided = self._decided, []
        return decided

    def _profile(self, plan: ProfilePlan, registry: Registry) -> Profile:
        name, gates, rng = plan.scheduler_name, self._gates, self._rng
        return make_profile(
            plan,
            registry,
            lambda cls: EngineHandle(self, name, cls, gates, rng),
            self.meter,
            self._budgets,
        )

    def _pre_enqueue(self, pod: Pod) -> Status | None:
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


def _domains(answer: Any) -> dict[str, tuple[str, ...]]:
    return {str.__str__(node): tuple(map(str.__str__, domains)) for node, domains in dict(answer).items()}


def _moment(plugin: str, point: str, answer: Any) -> float:
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
    return _moment(plugin, "order_of", since), str.__str__(name)


class SessionObserver:
    """Passes pods that take or give back places on to a session's event handlers."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def taken(self, placed: Placed) -> None:
        self._session.hooks.ask("allocate", Task(placed.pod, placed.node))

    def given_back(self, placed: Placed) -> None:
        self._session.hooks.ask("deallocate", Task(placed.pod, placed.node))
