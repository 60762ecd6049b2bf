"""Takes events in: keeps the cluster and the queue true to what the API server says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mooring.cluster.pods import ASSUMED, Placed
from mooring.engine.cycle.reserved_pods import ReservedPods
from mooring.engine.events import (
    BindFailed,
    Bound,
    EvictFailed,
    NodeAdded,
    NodeChanged,
    NodeDeleted,
    ObjectAdded,
    ObjectChanged,
    ObjectDeleted,
    PodAdded,
    PodChanged,
    PodDeleted,
    Tick,
)
from mooring.engine.hook_table import tell
from mooring.engine.parts import Parts
from mooring.engine.queue.object_changes import event, node_update_events, object_event, pod_update_events
from mooring.errors import Unreadable
from mooring.framework.api import answers
from mooring.framework.api.events import ASSIGNED_POD, NODE, Action
from mooring.model.objects import Node, Object, Pod

Taker = Callable[[Any, float], None]
FINISHED = ("Succeeded", "Failed")


class Ingest:
    """Applies one event at a time."""

    def __init__(self, parts: Parts, reserved: ReservedPods) -> None:
        self._parts = parts
        self._reserved = reserved
        self.takers: dict[type[Any], Taker] = {  # what is done with an event, by its type
            PodAdded: self._pod_event,
            PodChanged: self._pod_event,
            PodDeleted: lambda event, now: self._pod_deleted(event.pod, now),
            NodeAdded: lambda event, now: self._node(event.node, now),
            NodeChanged: lambda event, now: self._node(event.node, now),
            NodeDeleted: lambda event, now: self._node_gone(event.node, now),
            ObjectAdded: lambda event, now: self._object(event.object, now),
            ObjectChanged: lambda event, now: self._object(event.object, now),
            ObjectDeleted: lambda event, now: self._object_gone(event.object, now),
            Bound: reserved.bound,
            BindFailed: self._bind_failed,
            EvictFailed: lambda event, now: reserved.evict_failed(event),
            Tick: lambda event, now: self._tick(now),
        }

    def touched(self, name: str, nodes: Iterable[str], now: float) -> None:
        """A book or a plugin has marked nodes: whoever registers for its name is told which are there."""
        table = self._parts.cluster.nodes
        there = tuple(table.object_at(table.rows[each]) for each in nodes if each in table.rows)
        if there:
            self._parts.queue.move_all(event(name, Action.UPDATE, None, there), now)

    # pods

    def _pod_deleted(self, pod: Pod, now: float) -> None:
        self._pod_gone(pod, now)
        self._parts.others.pop(pod.metadata.uid, None)
        for hook in self._parts.hooks.pod_gone:
            tell(hook, pod)

    def _pod_event(self, event: PodAdded | PodChanged, now: float) -> None:
        pod, parts = event.pod, self._parts
        spec, uid = pod.spec, pod.metadata.uid
        if spec.unreadable:
            raise Unreadable(spec.unreadable)
        hooks, others = parts.hooks, parts.others
        for name, method, _, pods in hooks.pod_seen:
            if pods is None or uid in pods:
                try:
                    method(pod)
                except BaseException as error:
                    answers.raised(name, "following", error)
        if others:
            others.pop(uid, None)
        if pod.status.phase in FINISHED:
            self._pod_gone(pod, now)
            others[uid] = pod
        elif spec.node_name:
            self._bound_pod(pod, now)
        elif spec.scheduler_name in hooks.profiles:
            self._unbound_pod(parts.specs.shared(pod), now)
        else:
            others[uid] = pod

    def _bound_pod(self, pod: Pod, now: float) -> None:
        parts, uid = self._parts, pod.metadata.uid
        if uid in parts.pending or uid in parts.binding:
            self._had_waited(pod, now)
        known = parts.cluster.pods.by_uid.get(uid)
        if known is None:
            statement = parts.cluster.statement()  # of one change: nothing to undo if it is refused
            placed = statement.take(pod, pod.spec.node_name, bound=True)
            statement.commit()
            parts.cluster.counts.note(placed)  # ahead: a first selector would have to look at all of them
            self._arrived(placed)
            if parts.queue.listening:  # while a cluster is read in, nobody is
                parts.queue.move_all(event(ASSIGNED_POD, Action.ADD, None, pod), now)
            return
        old, assumed, before = known.pod, known.hold is ASSUMED, known.node
        with parts.cluster.statement() as statement:
            placed = statement.confirm(pod)
        self._arrived(placed)
        if before != pod.spec.node_name:
            parts.place_freed(old, before)
        if assumed:
            parts.queue.move_all(event(ASSIGNED_POD, Action.ADD, None, pod), now)
            return
        for change in pod_update_events(old, pod, assigned=True):
            parts.queue.move_all(change, now)

    def _had_waited(self, pod: Pod, now: float) -> None:
        """A pod we had to do with is bound: from here on the API server's word counts, no report."""
        self.forget(pod.metadata.uid)
        self._reserved.bound(Bound(pod, pod.spec.node_name), now)

    def _unbound_pod(self, pod: Pod, now: float) -> None:
        parts, uid = self._parts, pod.metadata.uid
        old = parts.pending.get(uid)
        parts.pending[uid] = pod
        if uid in parts.waiting or uid in parts.binding:
            if pod.terminating and (wait := parts.waiting.get(uid)):
                wait.reject("", "removed")
            return
        if uid in parts.cluster.pods.by_uid:
            return
        if old is None:
            if pod.status.nominated_node_name:
                parts.nominator.nominate(pod, pod.status.nominated_node_name)
            parts.queue.add(pod, now)
            return
        if (before := old.status.nominated_node_name) != pod.status.nominated_node_name:
            parts.nominator.nominate(pod, pod.status.nominated_node_name)
            if before:
                parts.place_freed(old, before, but=uid, given_back=True)
        if old.metadata.resource_version and old.metadata.resource_version == pod.metadata.resource_version:
            return
        parts.queue.update(pod, pod_update_events(old, pod, assigned=False), now)

    def _pod_gone(self, pod: Pod, now: float) -> None:
        parts, uid = self._parts, pod.metadata.uid
        self._parts.pending.pop(uid, None)
        parts.words.forget(uid)
        nominated = parts.nominator.node_of(uid)
        parts.nominator.remove(uid)
        if wait := parts.waiting.get(uid):
            wait.reject("", "removed")
        self._leave_queue(uid)
        parts.stories.gone(uid)
        if uid in parts.cluster.pods.by_uid:
            with parts.cluster.statement() as statement:
                placed = statement.give_back(uid)
            parts.place_freed(placed.pod, placed.node)
        elif nominated:
            parts.place_freed(pod, nominated)

    def _arrived(self, placed: Placed) -> None:
        """The API server shows a pod on its node."""
        for plugin in self._parts.hooks.looking_ahead:
            plugin.arrived(placed)

    def forget(self, uid: str) -> None:
        """Nothing is known of a pod any more but its place, if it has one."""
        self._parts.pending.pop(uid, None)
        self._parts.words.forget(uid)
        self._parts.nominator.remove(uid)
        self._leave_queue(uid)

    def renew(self) -> None:
        """Other profiles are in force: pods of new ones are ours, those of others no longer."""
        parts = self._parts
        profiles = parts.hooks.profiles
        for uid, pod in list(parts.pending.items()):
            if pod.spec.scheduler_name not in profiles:
                self.forget(uid)
                parts.others[uid] = pod
        for uid, pod in list(parts.others.items()):
            is_ours = pod.spec.scheduler_name in profiles and not pod.spec.node_name
            if is_ours and pod.status.phase not in FINISHED:
                del parts.others[uid]
                self._unbound_pod(parts.specs.shared(pod), parts.now)

    def _leave_queue(self, uid: str) -> None:
        """The pod wants no place any more, wherever it waited for one."""
        self._parts.queue.delete(uid)
        if self._parts.outside is not None:
            self._parts.outside.forget(uid)

    def _bind_failed(self, event: BindFailed, now: float) -> None:
        uid = event.pod.metadata.uid
        pod = self._parts.pending.get(uid)
        if event.elsewhere and pod is not None and uid in self._parts.binding:
            # Its place counts from now on: the watch may be far behind, and others must not be put there.
            self._bound_pod(pod.on_node(event.elsewhere), now)
        else:
            self._reserved.bind_failed(uid, event.message)

    # nodes and other objects

    def _node(self, node: Node, now: float) -> None:
        parts = self._parts
        row = parts.cluster.nodes.rows.get(node.name)
        if row is None:
            changes = [event(NODE, Action.ADD, None, node)]
        else:
            old = parts.cluster.nodes.object_at(row)
            changes = node_update_events(old, node)
            if not changes and old.spec == node.spec and old.status.images == node.status.images:
                return  # a heartbeat: nothing scheduling reads is different
        parts.rounds.close()
        with parts.cluster.statement() as statement:
            statement.put_node(node)
        for change in changes:
            parts.queue.move_all(change, now)

    def _node_gone(self, node: Node, now: float) -> None:
        parts = self._parts
        if node.name in parts.cluster.nodes.rows:
            parts.rounds.close()
            parts.queue.move_all(event(NODE, Action.DELETE, node, None), now)
            with parts.cluster.statement() as statement:
                statement.drop_node(node.name)

    def _object(self, found: Object, now: float) -> None:
        self._parts.rounds.object_changes(found, now)
        before = self._parts.objects.put(found)
        for hook in self._parts.hooks.object_seen:
            tell(hook, before, found)
        action = Action.UPDATE if before else Action.ADD
        self._parts.queue.move_all(object_event(action, before, found), now)

    def _object_gone(self, found: Object, now: float) -> None:
        self._parts.rounds.object_changes(found, now)
        before = self._parts.objects.drop(found)
        if before is not None:
            for hook in self._parts.hooks.object_seen:
                tell(hook, before, None)
            self._parts.queue.move_all(object_event(Action.DELETE, before, None), now)

    def _tick(self, now: float) -> None:
        for wait in list(self._parts.waiting.values()):
            wait.expire(now)
        self._parts.queue.tick(now)
        self._parts.decided.extend(self._parts.words.tell(now))
