"""The engine: events in, decisions out.

Pure: it does no I/O, reads no clock and draws no randomness but from the seed it was given. The same
events at the same times give the same decisions, in production, in the simulator and in a test.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

import msgspec

from mooring.cluster.cluster import Cluster
from mooring.cluster.view import ClusterView
from mooring.config.feature_gates import FeatureGates
from mooring.config.profiles import ProfilePlan
from mooring.config.scheduler import Extender
from mooring.engine.cycle.reserved_pods import ReservedPods
from mooring.engine.decisions import Bind, Decision, Wait
from mooring.engine.events import Consulted, Event, NotRead, PodAdded
from mooring.engine.extenders.extenders import Extenders
from mooring.engine.hook_table import HookTable
from mooring.engine.intake.refusals import Refusals
from mooring.engine.kept_beside_fresh import check_kept
from mooring.engine.metering.metered import makers_for
from mooring.engine.parts import Parts
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.nominator import Nominator
from mooring.engine.pod_words import Words
from mooring.engine.queue.backoff import Backoff
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.engine.story import Note, Story
from mooring.engine.table_making import TableMaker
from mooring.engine.table_swap import look_back, put_in_force, take_up
from mooring.engine.telling import (
    BEST_SHOWN,
    TAKES_TOO_LONG,
    TOO_LONG_AGO,
    Telling,
    in_short,
    untried,
    why_in_short,
)
from mooring.errors import ClusterError, ConfigError, InvariantError, OverBudget, PluginFailed, Untold
from mooring.framework.api.handle import Api
from mooring.framework.loading.registry import Registry
from mooring.framework.metrics.meter import Meter
from mooring.framework.running.binding import BindingState
from mooring.framework.running.budget import Budgets
from mooring.framework.running.profile import Profile
from mooring.framework.running.story_budgets import StoryBudgets
from mooring.model.objects import Object, Pod
from mooring.workloads.gangs_made_anew import compare

BEING_BOUND = "is being bound to node {}"
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
        cluster: Cluster | None = None,
        objects: Iterable[Object] = (),
    ) -> None:
        make = makers_for(meter)
        self.meter = meter
        gates = gates or FeatureGates()
        self._rng = random.Random(seed)
        self.cluster = cluster = Cluster() if cluster is None else cluster
        self._budgets = budgets
        self._options: dict[str, Any] = {"backoff": backoff, "gates": gates, "extenders": extenders}
        self._books, self._places = cluster.books, cluster.pods.by_uid
        self.view = ClusterView(cluster.nodes, cluster.pods)
        self.nominator = Nominator()
        self.placer = make.placer(cluster, self.view, self.nominator, self._rng)
        self.placer.keep_scores = keep_scores
        self._parts = parts = Parts(self.placer, self.nominator, meter)
        for found in objects:
            parts.objects.put(found)
        parts.tells_expectations = gates.enabled("NominatedNodeNameForExpectation")
        self.objects, self.specs, self.stories = parts.objects, parts.specs, parts.stories
        self.waiting, self.binding, self.scores = parts.waiting, parts.binding, parts.scores
        self._tables = TableMaker(
            parts, make.hints, self._rng, gates, budgets, judged_outside=bool(extenders)
        )
        parts.hooks = self._tables.make(plans, registry)
        parts.gangs.abide_by(parts.hooks.gang_rules)
        parts.hooks.put_in_place(cluster)
        self.queue = parts.queue = parts.words.queue = make.queue(parts.hooks, backoff)
        self.queue.on_hold = lambda queued: parts.words.owe(queued.pod.metadata.uid, parts.now)
        self._busy = False
        self.cycle = cycle = make.cycle(parts)
        reserved = ReservedPods(parts, cycle.places, cycle.failures)
        self.words = parts.words
        self.extenders = parts.outside = Extenders(cycle, extenders) if extenders else None
        if parts.outside is not None:
            parts.words.asked_about = parts.outside.asked_about
        self._groups = make.groups(cycle)
        self._ingest = make.ingest(parts, reserved)
        self.refusals = Refusals(parts, self._ingest)
        self._refused = self.refusals.standing
        self._takers = self._ingest.takers
        self._takers[NotRead] = lambda event, now: self.refusals.not_read(event)
        self._takers[Consulted] = lambda event, now: self._consulted(event)
        self._followed_up_at = 0.0
        self._looked_again_at: float | None = None

    @property
    def hooks(self) -> HookTable:
        """The table in force."""
        return self._parts.hooks

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """Those in force, by name."""
        return self._parts.hooks.profiles

    @property
    def now(self) -> float:
        """The time it was last told."""
        return self._parts.now

    # the three things that can be asked

    def handle(self, event: Event, now: float) -> list[Decision]:
        """Takes one event in. Returns what it decides at once: a pod let go from permit, say."""
        parts = self._parts
        parts.now = now
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
        return self._flush() if parts.decided else []

    def schedule(self, now: float) -> list[Decision] | None:
        """One scheduling cycle for the next pod, or None when no pod is ready."""
        if self._busy:
            raise RuntimeError(BUSY)
        self._busy = True
        parts = self._parts
        try:
            parts.now = now
            if not self.words.speaks:
                self.words.begin(now)
            hooks = parts.hooks
            if hooks.follow_ups and now - self._followed_up_at >= FOLLOW_UP_S:
                self._follow_up()
            if self._books.unattended:
                self._follow_books()
            queued = self.queue.pop() if not hooks.next_pods else self._next()
            if queued is None and (queued := self._next_after_round(now)) is None:
                return self._flush() or None
            meta = queued.pod.metadata
            if meta.deletion_timestamp is not None or meta.uid in self._places:
                self.queue.delete(meta.uid)
                return self._flush()
            parts.deciding = True
            decisions = None
            if queued.group is not None or hooks.asks_for_every_group:
                decisions = self._groups.run(queued)
            if decisions is None:
                decisions = self.cycle.run(queued)
            return decisions + self._flush() if parts.decided else decisions
        except BaseException:
            parts.rounds.close()
            raise
        finally:
            self._busy = parts.deciding = False

    def _next_after_round(self, now: float) -> QueuedPod | None:
        """What plugins make of a round that is over may have pods ready again. They are looked for once at a
        moment: where time stands still, a plugin that wakes pods each time would have them go round."""
        self._parts.rounds.close()
        self._follow_up()
        before, self._looked_again_at = self._looked_again_at, now
        return self.queue.pop() if before != now else None

    def wake_at(self) -> float | None:
        """The next moment at which a Tick can change something by itself."""
        moments = [wait.deadline for wait in self.waiting.values()]
        if (moment := self.queue.wake_at()) is not None:
            moments.append(moment)
        moments.extend(self._parts.hooks.moments())
        if (owed := self.words.wake_at) != inf:
            moments.append(owed)
        return min(moments, default=None)

    def plugins_wake_at(self) -> float | None:
        """The next moment at which a plugin wants to be woken."""
        return min(self._parts.hooks.moments(), default=None)

    def catch_up(self) -> bool:
        """A bit of work that may save time later, when there is nothing else to do. True: there is more."""
        return self._parts.hooks.catch_up()

    def attach(self, api: Api) -> None:
        """Gives binding plugins the API server their calls go to."""
        self._tables.api = api
        for plugin in self._parts.hooks.plugins():
            plugin.handle.api = api

    # the table of hooks

    def table(self, plans: Sequence[ProfilePlan], registry: Registry) -> HookTable:
        """A table of hooks to follow the one in force, built aside. A plugin of a profile that is of the same
        class and has the same arguments is the same instance. ConfigError with every mistake; nothing is
        changed then."""
        return self._tables.make(plans, registry)

    def swap(self, table: HookTable, now: float) -> list[Decision]:
        """Puts a table in force, between two cycles. Returns what that decides: a pod that need not wait any
        more, say. ValueError for a table that does not follow the one in force."""
        if self._busy:
            raise RuntimeError(BUSY)
        self._busy = True
        try:
            self._parts.now = now
            put_in_force(self._parts, self._ingest, table)
            return self._flush()
        finally:
            self._busy = False

    def fork(self, plans: Sequence[ProfilePlan] | None = None, registry: Registry | None = None) -> Engine:
        """An engine that goes its own way from here, on a copy of the cluster; with other plans or plugins,
        to see what they would decide. What is decided and not carried out yet counts as carried out there;
        pods that want a place, or wait at permit, are tried anew, as after a restart. It is neither metered
        nor timed."""
        if self._busy:
            raise RuntimeError(BUSY)
        of = self._parts.hooks
        cluster = self.cluster.fork(counts=False)  # plugins of its own ask, and see other objects
        fork = self._beside(cluster, plans or of.plans, registry or of.registry)
        take_up(fork._parts, self._parts)
        for pod in self._parts.pending.values():
            if pod.metadata.uid not in cluster.pods.by_uid:
                fork.handle(PodAdded(pod), self.now)
        return fork

    def story(self, key: str, best: int = BEST_SHOWN) -> Story | None:
        """Why the pod of that `namespace/name` is where it is, or waits; with so many of the best nodes.
        Told in short from within: what is being tried is in the cluster and not in its history."""
        waiting = self._waits(key)
        note = self.stories.find(key)
        if note is None or (waiting is not None and note.pod.metadata.uid != waiting.pod.metadata.uid):
            return None if waiting is None else untried(waiting, self.now)
        story = self._tell(note, best)
        if waiting is not None:
            return msgspec.structs.replace(story, node="", message=waiting.message)
        if note.pod.metadata.uid in self.binding:
            return msgspec.structs.replace(story, message=BEING_BOUND.format(note.node))
        return story

    @property
    def owes_words(self) -> bool:
        """Whether some pod waits and is still to be told what for."""
        return self.words.owes

    def waits_for(self, uid: str) -> Words | None:
        """What a pod that has no node waits for; None when it is being bound, or is none of ours."""
        return self.words.of(uid)

    def _waits(self, key: str) -> Wait | None:
        """What the pod of that name waits for, if it does."""
        for uid, pod in self._parts.pending.items():
            if pod.key == key:
                words = self.words.of(uid)
                return None if words is None else Wait(pod, words.reason, words.message, words.plugins)
        refused = (each for each in self._refused.values() if isinstance(each, Wait))
        return next((each for each in refused if each.pod.key == key), None)

    def _tell(self, note: Note, best: int) -> Story:
        if self._busy or note.pod_class is None or note.blamed:
            return in_short(note, why_in_short(note, busy=self._busy))
        try:
            return self._told(note, note.pod_class, best)
        except ClusterError:
            return in_short(note, TOO_LONG_AGO)
        except OverBudget:
            return in_short(note, TAKES_TOO_LONG)
        except (ConfigError, PluginFailed, Untold) as error:
            return in_short(note, str(error))

    def _told(self, note: Note, pod_class: PodClass, best: int) -> Story:
        profile, cluster = pod_class.profile, self.cluster.as_of(note.position)
        budgets = None if self._budgets is None else StoryBudgets(self._budgets.clock)
        fork = self._beside(cluster, [profile.plan], Registry.of(profile.plugins), budgets=budgets)
        look_back(fork._parts, self._parts, note, pod_class)
        return Telling(fork._parts, note, pod_class).story(best)

    def _beside(
        self, cluster: Cluster, plans: Sequence[ProfilePlan], registry: Registry, **more: Any
    ) -> Engine:
        """An engine on a copy of the cluster, with plugins of its own."""
        objects = self.objects.all()
        fork = Engine(plans, registry, cluster=cluster, objects=objects, **self._options, **more)
        fork._rng.setstate(self._rng.getstate())
        return fork

    # what the parts of the engine do for each other

    def binding_state(self, bind: Bind) -> BindingState | None:
        """What plugins that bind have to know of a pod; None when that attempt at it is over."""
        found = self.binding.get(bind.pod.metadata.uid)
        if found is None or found.cycle.attempt != bind.attempt:
            return None
        return BindingState(found.profile, found.cycle, found.takes_long)

    def _consulted(self, event: Consulted) -> None:
        """An extender has answered, or has not in time."""
        if self.extenders is not None:
            self._parts.decided.extend(self.extenders.heard(event))

    def gang_of(self, pod: Pod) -> tuple[str, str] | None:
        """What tells those that a pod waits together with from all others, and what they are called."""
        order = self._parts.hooks.group_of(pod)
        if order is None:
            return None
        member = self._parts.gangs.members.get(pod.metadata.uid)
        return (order[1] if member is None else member.gang.group.key), order[1]

    def network(self) -> dict[str, tuple[str, ...]]:
        """The network domains each node is in, the widest first, as far as a plugin knows them."""
        return self._parts.hooks.network()

    def activate(self, pods: Iterable[Pod]) -> None:
        """Has pods tried now, whatever they wait for."""
        self._parts.activate(pods)

    def check(self, *, afresh: bool = False) -> None:
        """Raises InvariantError, or fails an assertion, unless everything agrees. With `afresh`, what is kept
        is also compared with what evaluating every node gives."""
        self.cluster.check()
        assert not self._books.open
        compare(self._parts.gangs, self._parts.gangs_anew())
        self.queue.check()
        self.words.check()
        if afresh:
            check_kept(self._parts)
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

    def _follow_up(self) -> None:
        """Plugins follow up on what was seen and decided. Never before pods are decided."""
        self._followed_up_at = self._parts.now
        self._parts.hooks.follow_up()

    def _follow_books(self) -> None:
        """Broken books are made anew, and whoever waits for a node that was touched is judged again."""
        for name, nodes in self._books.attend().items():
            self._ingest.touched(name, nodes, self._parts.now)

    def _next(self) -> QueuedPod | None:
        """The pod a plugin wants to be next, if it waits; otherwise the queue's."""
        uid = self._parts.hooks.next_pod()
        return (None if uid is None else self.queue.take(uid)) or self.queue.pop()

    def _flush(self) -> list[Decision]:
        decided, self._parts.decided = self._parts.decided, []
        return decided
