"""The scheduling queue: active, backing off, unschedulable, and in flight.

Behaves as kube-scheduler's: pods leave the unschedulable part when an event may help them, wait out
their back-off unless nothing else is ready, and are held back by gates before they enter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import ceil

from mooring.engine.queue.backoff import Backoff
from mooring.engine.queue.heap import Heap
from mooring.engine.queue.hints import AFTER_BACKOFF, IMMEDIATELY, SKIP, Requeue
from mooring.engine.queue.in_flight import InFlight
from mooring.engine.queue.queue_hooks import QueueHooks
from mooring.engine.queue.queued_pod import ACTIVE, IN_FLIGHT, QueuedPod, Where
from mooring.engine.queue.turns import Turns
from mooring.framework.api.events import ANY, Action, ClusterEvent
from mooring.framework.api.status import Status
from mooring.model.objects import Pod

FLUSH_EVERY_S = 30  # how often pods stuck in the unschedulable part are looked for
AGED_AFTER_S = 60  # how long a group waits before it is tried at once when something happens
STUCK_AFTER_S = 300  # kube-scheduler's --pod-max-in-unschedulable-pods-duration

UNSCHEDULABLE_TIMEOUT = ClusterEvent(ANY, Action.ALL, "UnschedulableTimeout")

SWAPPED = ClusterEvent(ANY, Action.ALL, "PluginsSwapped")


class SchedulingQueue:
    """Every pod that is not placed is in exactly one part."""

    def __init__(self, hooks: QueueHooks, backoff: Backoff) -> None:
        self.hooks = hooks  # those in force
        self._backoff = backoff
        self._pods: dict[str, QueuedPod] = {}
        self._make_heaps()
        self._unschedulable: dict[str, QueuedPod] = {}
        # Pods held by a gate, by scheduler name and gating plugin: an event passes over them together.
        self._held: dict[tuple[str, str], dict[str, QueuedPod]] = {}
        self._next_flush = float(FLUSH_EVERY_S)
        self.in_flight = InFlight()
        self.on_hold: Callable[[QueuedPod], None] = lambda queued: None  # told of pods that a gate holds

    def _make_heaps(self) -> None:
        order = self.hooks.order
        self._active = Turns(order.key, order.failed)
        self._backing_off = Heap(lambda queued: (queued.backoff_expiration, order.key(queued)), order.failed)
        self._erring = Heap(lambda queued: queued.backoff_expiration)
        self._heaps: dict[Where, Heap | Turns] = {
            ACTIVE: self._active,
            Where.BACKOFF: self._backing_off,
            Where.ERROR_BACKOFF: self._erring,
        }

    def __iter__(self) -> Iterator[QueuedPod]:
        return iter(self._pods.values())

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, uid: str) -> QueuedPod | None:
        return self._pods.get(uid)

    def sizes(self) -> dict[str, int]:
        """How many pods are in each part, in the words of the metric `pending_pods`."""
        return {
            "active": len(self._active),
            "backoff": len(self._backing_off) + len(self._erring),
            "unschedulable": len(self._unschedulable),
            "gated": sum(map(len, self._held.values())),
        }

    # coming and going

    def add(self, pod: Pod, now: float) -> None:
        """A pod that wants a place: ready at once unless a gate holds it."""
        queued = self._pods[pod.metadata.uid] = QueuedPod(pod, now)
        if self.hooks.sorts_groups:
            queued.group = self.hooks.group_of(pod)
        self._enter_active(queued, now)

    def pop(self) -> QueuedPod | None:
        """The next pod to decide. When none is ready, one that is backing off has its turn early."""
        queued = self._active.pop() or self._backing_off.pop()
        return None if queued is None else self.in_flight.begin(queued)

    def take(self, uid: str, gated_by: str = "") -> QueuedPod | None:
        """A certain pod, out of turn, wherever it waits, unless a gate holds it other than that of the plugin
        that asks for it."""
        queued = self._pods.get(uid)
        if queued is None or queued.where is IN_FLIGHT or queued.gating_plugin not in ("", gated_by):
            return None
        self._leave(queued)
        queued.gating_plugin = queued.gating_message = ""
        return self.in_flight.begin(queued)

    def update(self, pod: Pod, events: Iterable[ClusterEvent], now: float) -> None:
        """The pod's object changed; the events say how."""
        queued = self._pods.get(pod.metadata.uid)
        if queued is None:
            self.add(pod, now)
            return
        queued.pod = pod
        if self.hooks.sorts_groups:
            queued.group = self.hooks.group_of(pod)
        if queued.where is IN_FLIGHT:
            for event in events:
                self.in_flight.record(event)
        elif queued.where is Where.UNSCHEDULABLE:
            for event in events:
                if self._gate_hears(queued, event):
                    self._wake(queued, event, now)
                if queued.where is not Where.UNSCHEDULABLE:
                    break
        else:
            self._heaps[queued.where].push(queued)

    def delete(self, uid: str) -> None:
        """The pod is gone, or has its place."""
        queued = self._pods.pop(uid, None)
        if queued is not None:
            self._leave(queued)
            self.in_flight.done(uid)

    def bound(self, uid: str) -> None:
        """The pod's decision is final: it leaves the queue, and later events no longer concern it."""
        self._pods.pop(uid, None)
        self.in_flight.done(uid)

    def failed(self, queued: QueuedPod, now: float) -> None:
        """A pod in flight did not get its place: back off, or wait for an event that may help."""
        uid = queued.pod.metadata.uid
        self._pods[uid] = queued
        if queued.rejectors:
            queued.unschedulable_count += 1
            queued.consecutive_errors = 0
        else:
            queued.consecutive_errors += 1
        queued.timestamp, queued.flushed_at = now, None
        if queued.group is not None:
            self._active.has_failed()
        strategy, in_time = AFTER_BACKOFF, True  # nobody rejected it: no event can help
        if queued.rejectors:
            strategy, in_time = self._best(queued, self.in_flight.events_for(uid))
        self.in_flight.done(uid)
        self._requeue(queued, strategy, now, in_time=in_time)

    def put_back(self, queued: QueuedPod, now: float) -> None:
        """A pod in flight is to be tried anew, as if it had not been tried."""
        self.in_flight.done(queued.pod.metadata.uid)
        self._enter_active(queued, now)

    def renew(self, now: float) -> None:
        """Other hooks are in force: pods are sorted and gated anew. Those that wait for an event are tried
        again, as who rejected them may be gone."""
        ready = [queued for queued in self if queued.where in self._heaps]
        self._make_heaps()
        for queued in list(self):
            queued.group = self.hooks.group_of(queued.pod) if self.hooks.sorts_groups else None
        for queued in ready:
            if (status := self.hooks.pre_enqueue(queued.pod)) is not None:
                self._hold(queued, status)
            else:
                self._heaps[queued.where].push(queued)
        self.move_all(SWAPPED, now)

    # waking

    @property
    def listening(self) -> bool:
        """Whether there is any pod that an event could concern."""
        return bool(self._unschedulable or self._held or self.in_flight.pods)

    def move_all(self, event: ClusterEvent, now: float, *, but: str = "") -> None:
        """Something happened: every unschedulable pod it may help is tried again."""
        if not self.listening or not self.hooks.hints.anyone_wants(event):
            return
        woken = list(self._unschedulable.values())
        for (scheduler, gate), held in self._held.items():
            if event.wildcard or self.hooks.hints.wanted(scheduler, gate, event):
                woken.extend(held.values())
        for queued in woken:
            if queued.pod.metadata.uid != but:
                self._wake(queued, event, now)
        self.in_flight.record(event)

    def activate(self, pods: Iterable[Pod], now: float, *, deciding: bool = False) -> None:
        """Pods somebody wants tried now, whatever they wait for. Who wants it while he decides about others
        has each tried out of turn once: from then on its back-off counts, or they would never rest."""
        for pod in pods:
            queued = self._pods.get(pod.metadata.uid)
            if queued is None or queued.where is ACTIVE:
                continue
            if deciding and queued.where is not IN_FLIGHT and self._backoff.backing_off(queued, now):
                if queued.hurried:
                    continue
                queued.hurried = True
            if queued.where is IN_FLIGHT:
                self.in_flight.record(ClusterEvent(ANY, Action.ALL, "ForceActivate", new=queued.pod))
                continue
            gates_passed = queued.where is not Where.UNSCHEDULABLE
            self._leave(queued)
            if gates_passed:
                self._to_active(queued, now)
            else:
                self._enter_active(queued, now)

    def tick(self, now: float) -> None:
        """Lets pods whose back-off is over in, and pods that are stuck try again."""
        for heap in (self._backing_off, self._erring):
            while (queued := heap.peek()) is not None and not self._backoff.backing_off(queued, now):
                heap.pop()
                queued.hurried = False
                self._to_active(queued, now)
        if now >= self._next_flush:
            self._next_flush = (now // FLUSH_EVERY_S + 1) * FLUSH_EVERY_S
            self._flush_stuck(now)

    def wake_at(self) -> float | None:
        """When a tick can change something next."""
        return min(
            (moment for moment in (self.retry_at(), self._stuck_at()) if moment is not None), default=None
        )

    def retry_at(self) -> float | None:
        """When the next back-off is over."""
        heads = [head for heap in (self._backing_off, self._erring) if (head := heap.peek())]
        return min((head.backoff_expiration + 1 for head in heads), default=None)

    def _stuck_at(self) -> float | None:
        """When pods that nothing has woken for long are looked at next."""
        oldest = next(iter(self._unschedulable.values()), None)  # parked in the order they failed in
        if oldest is None:
            return None
        stuck = _stuck_since(oldest) + STUCK_AFTER_S
        return max(self._next_flush, ceil(stuck / FLUSH_EVERY_S) * FLUSH_EVERY_S)

    def _flush_stuck(self, now: float) -> None:
        held = (queued for pods in self._held.values() for queued in pods.values())
        for queued in (*self._unschedulable.values(), *held):
            if now - _stuck_since(queued) > STUCK_AFTER_S:
                queued.flushed_at = now
                self._wake(queued, UNSCHEDULABLE_TIMEOUT, now)

    def _wake(self, queued: QueuedPod, event: ClusterEvent, now: float) -> None:
        """Has a pod tried again if the event may help it. A gate that holds it has to hear of the event."""
        strategy = self.hooks.hints.worth_requeuing(queued, event)
        if strategy is SKIP or (queued.gating_plugin and self._still_held(queued)):
            return
        self._leave(queued)
        self._requeue(queued, strategy, now, in_time=event.given_back)

    def _still_held(self, queued: QueuedPod) -> bool:
        """Whether the gate a pod is behind holds it again: it stays where it is then."""
        status = self.hooks.pre_enqueue(queued.pod)
        if status is None or status.plugin != queued.gating_plugin:
            return False
        if queued.gating_message != status.message:
            queued.gating_message, queued.gate_is_passing = status.message, status.passing
            self.on_hold(queued)
        return True

    def _gate_hears(self, queued: QueuedPod, event: ClusterEvent) -> bool:
        """Whether the gate that holds a pod wants to know of an event, if one does."""
        gate, scheduler = queued.gating_plugin, queued.pod.spec.scheduler_name
        return not gate or event.wildcard or self.hooks.hints.wanted(scheduler, gate, event)

    def _best(self, queued: QueuedPod, events: Iterable[ClusterEvent]) -> tuple[Requeue, bool]:
        """The most that events promise, and whether all that do are of places given back."""
        best, in_time = SKIP, True
        for event in events:
            answer = self.hooks.hints.worth_requeuing(queued, event)
            if answer is IMMEDIATELY and not event.given_back:
                return answer, False
            if answer is not SKIP:
                best, in_time = AFTER_BACKOFF, in_time and event.given_back
        return best, in_time

    def _requeue(self, queued: QueuedPod, strategy: Requeue, now: float, *, in_time: bool = False) -> None:
        """`in_time`: it waits its back-off out. Pods that take places, give them back and are woken by the
        others' would go round for ever otherwise."""
        if strategy is SKIP:
            self._park(queued)
        elif (in_time or strategy is AFTER_BACKOFF) and self._rests(queued, now, in_time=in_time):
            self._enter_backoff(queued, in_time=in_time)
        else:
            self._enter_active(queued, now)

    def _rests(self, queued: QueuedPod, now: float, *, in_time: bool) -> bool:
        """Whether a pod backs off first. Those of a group that waits for long do not once an event may help:
        while they rested, younger ones would take the room again and again."""
        aged = queued.group is not None and now - queued.group[0] >= AGED_AFTER_S
        return (in_time or not aged) and self._backoff.backing_off(queued, now)

    # moving between parts

    def _leave(self, queued: QueuedPod) -> None:
        if queued.where is Where.UNSCHEDULABLE:
            del self._home(queued)[queued.pod.metadata.uid]
        elif queued.where in self._heaps:
            self._heaps[queued.where].discard(queued)
        queued.where = Where.NOWHERE

    def _hold(self, queued: QueuedPod, status: Status) -> None:
        """A gate holds the pod: it is parked among the unschedulable."""
        queued.gating_plugin, queued.gating_message = status.plugin, status.message
        queued.gate_is_passing = status.passing
        queued.unschedulable_plugins |= {status.plugin}
        self._park(queued)
        self.on_hold(queued)

    def _park(self, queued: QueuedPod) -> None:
        """Among the unschedulable, or behind the gate that holds it."""
        queued.where = Where.UNSCHEDULABLE
        self._home(queued)[queued.pod.metadata.uid] = queued

    def _home(self, queued: QueuedPod) -> dict[str, QueuedPod]:
        """Where a parked pod is kept."""
        if not queued.gating_plugin:
            return self._unschedulable
        return self._held.setdefault((queued.pod.spec.scheduler_name, queued.gating_plugin), {})

    def _enter_active(self, queued: QueuedPod, now: float) -> None:
        """Ready, unless a gate holds it."""
        if (status := self.hooks.pre_enqueue(queued.pod)) is None:
            self._to_active(queued, now)
        else:
            self._hold(queued, status)

    def _to_active(self, queued: QueuedPod, now: float) -> None:
        queued.where = ACTIVE
        queued.gating_plugin = queued.gating_message = ""
        if queued.initial_attempt is None:
            queued.initial_attempt = now
        self._active.push(queued)

    def _enter_backoff(self, queued: QueuedPod, *, in_time: bool = False) -> None:
        if (status := self.hooks.pre_enqueue(queued.pod)) is not None:
            self._hold(queued, status)
            return
        queued.gating_plugin = queued.gating_message = ""
        # A group is not tried early, as others are when nothing else is ready: it would be all of them again.
        early = queued.rejectors and queued.group is None and not in_time
        queued.where = Where.BACKOFF if early else Where.ERROR_BACKOFF
        queued.backoff_expiration = self._backoff.expiration(queued)
        self._heaps[queued.where].push(queued)

    def check(self) -> None:
        """Asserts that every pod is in exactly the part it says."""
        for uid, queued in self._pods.items():
            assert (queued.where is Where.UNSCHEDULABLE) == (uid in self._home(queued)), queued
            assert (queued.where is IN_FLIGHT) == (uid in self.in_flight.pods), queued
            for where, heap in self._heaps.items():
                assert (queued.where is where) == (queued in heap), queued


def _stuck_since(queued: QueuedPod) -> float:
    return max(queued.timestamp, queued.flushed_at or 0.0)
