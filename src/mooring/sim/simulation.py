"""Runs a scheduler on an embedded cluster until nothing can change any more.

The scheduler is the one that runs in production: it hears of changes and decides; here its decisions
are carried out in a simulated world, whose clock jumps from one happening to the next.

A run is over when no arrival, end or deletion is to come, every waiting pod was tried since the cluster
last changed, and nobody counts on time any more: see `patience`.
"""

from __future__ import annotations

import logging
import random
from collections import deque
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Protocol

from mooring.config.scheduler import Extender
from mooring.engine.decisions import IN_LINE, Bind, Decision, Wait
from mooring.engine.events import Event, Tick
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.model.objects import Pod
from mooring.sim.arrivals import Loader, expected_pods, priority_classes, start_of
from mooring.sim.clock import Clock, seconds_between
from mooring.sim.controllers import Controllers
from mooring.sim.gang_records import GangBook
from mooring.sim.history import History
from mooring.sim.manifests.manifests import Entry
from mooring.sim.not_acted_on import NotActedOn, no_pods, not_acted_on
from mooring.sim.patience import Patience
from mooring.sim.performer import Performer
from mooring.sim.progress import GOES_ROUND, GettingOn
from mooring.sim.result import Failure, PendingPod, Result, Summary
from mooring.sim.scheduler import Scheduler
from mooring.sim.world.defaults import DEFAULT_SCHEDULER
from mooring.sim.world.kubelet import GATED, is_finished
from mooring.sim.world.world import World

if TYPE_CHECKING:
    from mooring.sim.extender_calls import Extending

log = logging.getLogger("mooring.sim")

SHORTEST_TICK_S = 1.0
NEVER_TRIED = "the pod has not been tried yet"
GATE_PLUGIN = "SchedulingGates"
KEPT_EVENTS = 200

Progress = Callable[[int, int], None]


class Onlooker(Protocol):
    """Is shown every decision before it is carried out, and everything the scheduler hears."""

    def decided(self, decision: Decision) -> None: ...

    def heard(self, event: Event) -> None: ...


class Simulation:
    """One run. `performer` carries out decisions; `world` is the cluster they act on."""

    def __init__(
        self,
        engine: Scheduler,
        entries: Sequence[Entry],
        *,
        seed: int = 0,
        scheduler_names: Collection[str] = (DEFAULT_SCHEDULER,),
        until: float | None = None,
        scores: bool = False,
        progress: Progress | None = None,
        extenders: Sequence[Extender] = (),
        onlooker: Onlooker | None = None,
        reads: Collection[tuple[str, str]] = (),
        gang_names: Collection[str] | None = None,
    ) -> None:
        self.engine = engine
        self.clock = Clock(start_of(entries))
        self.world = World(self.clock, priorities=priority_classes(entries), source=random.Random(seed))
        self._until = None if until is None else self.clock.start + until
        self.controllers = Controllers(self.world, until=self._until)
        self.history = History(frozenset(scheduler_names))
        self.gangs = GangBook(engine.gang_of)
        self._extending = _extending(extenders)
        self.performer = Performer(
            self.world, self.history, self._tell, engine.binding_state, self._extending
        )
        engine.attach(self.performer.api)
        self._events: deque[Event] = deque()
        self.world.subscribe(self.history.hear)
        self.world.subscribe(self._events.append)
        self._entries = entries
        self._reads, self._gang_names, self._own = reads, gang_names, frozenset(scheduler_names)
        self._scores: dict[str, dict[str, int]] | None = {} if scores else None
        self._progress = progress
        self._onlooker = onlooker
        self._decided: set[str] = set()
        self._expected = expected_pods(entries)
        self._decisions: deque[Decision] = deque()
        self._tried: dict[str, int] = {}  # uid to the version of the world it was last tried on
        self._trying = 0
        self._patience = Patience(engine, self.clock.start)
        self._seen_version = -1
        self._ticked_at = -1.0
        self._stopped = False
        self._goes_round = ""  # why the run is given up, if it is
        self._getting_on = GettingOn()

    @property
    def is_cut_short(self) -> bool:
        """Whether it was over before nothing could change any more."""
        return self._stopped

    def run(self) -> Result:
        """Runs to the end, or to `until`."""
        try:
            self._run()
        finally:
            if self._extending is not None:
                self._extending.close()
        return self.result()

    def _run(self) -> None:
        Loader(self.world, self.controllers, self._arrived).plan(self._entries)
        while not self._goes_round and (moment := self._next_moment()) is not None:
            if self._until is not None and moment > self._until:
                self.clock.advance(self._until)
                self._stopped = True
                break
            self._live_through(moment)

    def result(self) -> Result:
        """How things stand."""
        history = self.history
        pending = {pod.key: self._pending(pod) for pod in history.pending.values()}
        end = self.clock.now if self._stopped else self._patience.changed_at
        summary = Summary(
            nodes=len(history.usage.nodes),
            pods=len(history.pods),
            bound=len(history.placements),
            pending=len(pending),
            evicted=len(history.evicted),
            end_time_s=seconds_between(self.clock.start, end),
        )
        return Result(
            placements=dict(sorted(history.placements.items())),
            pending=dict(sorted(pending.items())),
            evicted=tuple(sorted(history.evicted)),
            patches=dict(sorted(self.performer.patches.items())),
            summary=summary,
            refused=dict(sorted(self.world.refused.items())),
            scores=None if self._scores is None else dict(sorted(self._scores.items())),
            gangs=self.gangs.results(
                history.placements,
                history.pending.values(),
                {key: waiting.message for key, waiting in pending.items()},
            ),
            network=dict(self.engine.network()),
            nodes=tuple(history.usage.nodes.values()),
            samples=tuple(history.usage.samples),
            events=tuple(self.world.events)[-KEPT_EVENTS:],
            failures={
                plugin: Failure(message, tuple(sorted(pods)))
                for plugin, (message, pods) in sorted(self.performer.failures.items())
            },
            from_before=frozenset(filter(None, map(_from_before, self._entries))),
            not_acted_on=self._not_acted_on(),
            stopped=self._goes_round,
        )

    def _not_acted_on(self) -> tuple[NotActedOn, ...]:
        found = not_acted_on(
            self._entries,
            self.world.pods.values(),
            self.controllers,
            own=self._own,
            reads=self._reads,
            gang_names=self._gang_names,
        )
        return found if found or self.history.pods else (no_pods(),)

    # time

    def _next_moment(self) -> float | None:
        """The next moment at which something may happen; None at the end."""
        moments = (self.clock.next_time, self._wake_at())
        return min((moment for moment in moments if moment is not None), default=None)

    def _wake_at(self) -> float | None:
        """When the scheduler wants to look again, if that could still change anything."""
        more = self.clock.next_time is not None
        pods = len(self.world.pods)
        wake = self._patience.wake_at(pods=pods, all_tried=self._all_tried(), more_to_come=more)
        if wake is None:
            return None
        if wake <= self._ticked_at:
            wake = self._ticked_at + SHORTEST_TICK_S
        return max(wake, self.clock.now)

    def _all_tried(self) -> bool:
        """True when every pod that may be tried was tried since the cluster last changed."""
        version = self.world.version
        return all(self._tried.get(uid, -1) >= version or self._gate(uid) for uid in self.history.pending)

    def _live_through(self, moment: float) -> None:
        """Everything that happens at one moment."""
        if self.clock.next_time is None or self.clock.next_time > moment:
            self.clock.advance(moment)
            self._ticked_at = moment
            self._patience.woken()
            self._tell(Tick())
        while self.clock.next_time is not None and self.clock.next_time <= moment:
            self.clock.pop()()
        self._settle()
        self._look_around()

    def _settle(self) -> None:
        """Tells the scheduler all it is to know and carries out what it decides, until it rests."""
        while True:
            if self._events:
                self._tell(self._events.popleft())
            elif self._decisions:
                self._carry_out(self._decisions.popleft())
            else:
                self._trying = self.world.version
                decided = self.engine.schedule(self.clock.now)
                if decided is None or self._is_stalled():
                    return
                self._decisions.extend(decided)

    def _is_stalled(self) -> bool:
        """Whether this goes on for ever: it is told, and the run is over."""
        placed, pods, version = len(self.history.placements), len(self.world.pods), self.world.version
        what = self._getting_on.stalled(self.clock.now, placed=placed, pods=pods, version=version)
        if what:
            self._stopped = True
            self._goes_round = GOES_ROUND.format(seconds=self.clock.elapsed, what=what)
            log.warning(self._goes_round)
        return self._stopped

    def _carry_out(self, decision: Decision) -> None:
        if self._onlooker is not None:
            self._onlooker.decided(decision)
        self.performer.perform(decision)
        if isinstance(decision, Bind) or (isinstance(decision, Wait) and decision.is_answer):
            self._tried[decision.pod.uid] = self._trying
            self._note(decision)

    def _tell(self, event: Event) -> None:
        if self._onlooker is not None:
            self._onlooker.heard(event)
        self._decisions.extend(self.engine.handle(event, self.clock.now))

    def _look_around(self) -> None:
        if self.world.version != self._seen_version:
            self._seen_version = self.world.version
            self._patience.changed(self.clock.now)
            self.history.usage.sample(self.clock.elapsed, len(self.history.pending))

    # keeping the book

    def _arrived(self, pod: Pod) -> None:
        if is_finished(pod):
            self.history.note_finished(pod)

    def _note(self, decision: Bind | Wait) -> None:
        key = decision.pod.key
        self.gangs.note(decision.pod, self.clock.elapsed, bound=isinstance(decision, Bind))
        if self._scores is not None and isinstance(decision, Bind):
            self._scores[key] = dict(self.engine.scores.get(key, {}))
        if self._progress is not None:
            self._decided.add(key)
            self._progress(len(self._decided), max(self._expected, len(self.history.pods)))

    def _pending(self, pod: Pod) -> PendingPod:
        """Why a pod waits."""
        nominated = pod.status.nominated_node_name or None
        if pod.spec.scheduling_gates:
            return PendingPod(GATED.message, (GATE_PLUGIN,), nominated)
        words = self.performer.waits.get(pod.uid) or self.engine.waits_for(pod.uid)
        if words is None or words.reason == IN_LINE:
            return PendingPod(NEVER_TRIED, (), nominated)
        return PendingPod(words.message, words.plugins, nominated)

    def _gate(self, uid: str) -> QueuedPod | None:
        """A pod that a plugin keeps out of the queue."""
        queued = self.engine.queue.get(uid)
        return queued if queued is not None and queued.gating_plugin else None


def _from_before(entry: Entry) -> str:
    """The key of a pod that comes from a running cluster; "" for anything else."""
    pod = entry.value
    return pod.key if isinstance(pod, Pod) and (pod.uid or pod.spec.node_name) else ""


def _extending(extenders: Sequence[Extender]) -> Extending | None:
    if not extenders:
        return None
    from mooring.sim.extender_calls import Extending  # an HTTP client takes long to import

    return Extending(extenders)
