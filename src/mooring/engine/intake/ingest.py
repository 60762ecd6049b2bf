"""Takes events in: keeps the cluster and the queue true to what the API server says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from mooring.cluster.pods import ASSUMED
from mooring.engine.events import (
    BindFailed,
    Bound,
    Consulted,
    EvictFailed,
    NodeAdded,
    NodeChanged,
    NodeDeleted,
    NotRead,
    ObjectAdded,
    ObjectChanged,
    ObjectDeleted,
    PodAdded,
    PodChanged,
    PodDeleted,
    Tick,
)
from mooring.engine.intake.object_changes import event, node_update_events, object_event, pod_update_events
from mooring.errors import Unreadable
from mooring.framework.api import answers
from mooring.framework.api.events import ASSIGNED_POD, NODE, Action
from mooring.framework.running.profile import Hook
from mooring.model.objects import Node, Object, Pod

if TYPE_CHECKING:
    from mooring.engine.engine import Engine

Taker = Callable[[Any, float], None]
FINISHED = ("Succeeded", "Failed")


class Ingest:
    """Applies one event at a time."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.pending: dict[str, Pod] = {}  # pods of our profiles that the API server shows unbound
        profiles = engine.profiles.values()
        self._told_seen = [hook for profile in profiles for hook in profile.at("pod_seen")]
        self._told_gone = [hook for profile in profiles for hook in profile.at("pod_gone")]
        self._told_objects = [hook for profile in profiles for hook in profile.at("object_seen")]

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
            Bound: engine.bound,
            BindFailed: self._bind_failed,
            Consulted: lambda event, now: engine.consulted(event),
            EvictFailed: lambda event, now: engine.evict_failed(event.pod.metadata.uid, event.by),
            NotRead: lambda event, now: engine.refusals.not_read(event),
            Tick: lambda event, now: self._tick(now),
        }

    def place_freed(
        self, pod: Pod, node_name: str, now: float, *, but: str = "", given_back: bool = False
    ) -> None:
        """A pod gave its place on a node back: others may fit now. `given_back`: it was never there."""
        if not pod.spec.node_name:
            pod = pod.on_node(node_name)  # it was only assumed there; hints look for a pod with a node
        freed = event(ASSIGNED_POD, Action.DELETE, pod, None, given_back=given_back)
        self._engine.queue.move_all(freed, now, but=but)

    def touched(self, name: str, nodes: Iterable[str], now: float) -> None:
        """A book or a plugin has marked nodes: whoever registers for its name is told which are there."""
        table = self._engine.cluster.nodes
        there = tuple(table.object_at(table.rows[each]) for each in nodes if each in table.rows)
        if there:
            self._engine.queue.move_all(event(name, Action.UPDATE, None, there), now)

    # pods

    def _pod_deleted(self, pod: Pod, now: float) -> None:
        self._pod_gone(pod, now)
        for hook in self._told_gone:
            self._tell(hook, pod)

    def _tell(self, hook: Hook, *about: Any) -> None:
        """A plugin that follows what the API server says is told. Whatever it does wrong is logged."""
        try:
            hook.method(*about)
        except BaseException as error:
            answers.raised(hook.name, "following", error)

    def _pod_event(self, event: PodAdded | PodChanged, now: float) -> None:
        pod = event.pod
        if pod.spec.unreadable:
            raise Unreadable(pod.spec.unreadable)
        for name, method, _ in self._told_seen:
            try:
                method(pod)
            except BaseException as error:
                answers.raised(name, "following", error)
        if pod.status.phase in FINISHED:
            self._pod_gone(pod, now)
        elif pod.spec.node_name:
            self._bound_pod(pod, now)
        elif pod.spec.scheduler_name in self._engine.profiles:
            self._unbound_pod(self._engine.specs.shared(pod), now)

    def _bound_pod(self, pod: Pod, now: float) -> None:
        engine, uid = self._engine, pod.metadata.uid
        if uid in self.pending or uid in engine.binding:
            self._had_waited(pod, now)
        known = engine.cluster.pods.by_uid.get(uid)
        if known is None:
            statement = engine.cluster.statement()  # of one change: nothing to undo if it is refused
            placed = statement.take(pod, pod.spec.node_name, bound=True)
            statement.commit()
            engine.cluster.counts.note(placed)  # ahead: a first selector would have to look at all of them
            engine.arrived(placed)
            if engine.queue.listening:  # while a cluster is read in, nobody is
                engine.queue.move_all(event(ASSIGNED_POD, Action.ADD, None, pod), now)
            return
        old, assumed, before = known.pod, known.hold is ASSUMED, known.node
        with engine.cluster.statement() as statement:
            placed = statement.confirm(pod)
        engine.arrived(placed)
        if before != pod.spec.node_name:
            self.place_freed(old, before, now)
        if assumed:
            engine.queue.move_all(event(ASSIGNED_POD, Action.ADD, None, pod), now)
            return
        for change in pod_update_events(old, pod, assigned=True):
            engine.queue.move_all(change, now)

    def _had_waited(self, pod: Pod, now: float) -> None:
        """A pod we had to do with is bound: from here on the API server's word counts, no report."""
        self.forget(pod.metadata.uid)
        self._engine.bound(Bound(pod, pod.spec.node_name), now)

    def _unbound_pod(self, pod: Pod, now: float) -> None:
        engine, uid = self._engine, pod.metadata.uid
        old = self.pending.get(uid)
        self.pending[uid] = pod
        if uid in engine.waiting or uid in engine.binding:
            if pod.terminating and (wait := engine.waiting.get(uid)):
                wait.reject("", "removed")
            return
        if uid in engine.cluster.pods.by_uid:
            return
        if old is None:
            if pod.status.nominated_node_name:
                engine.nominator.nominate(pod, pod.status.nominated_node_name)
            engine.queue.add(pod, now)
            return
        if (before := old.status.nominated_node_name) != pod.status.nominated_node_name:
            engine.nominator.nominate(pod, pod.status.nominated_node_name)
            if before:
                self.place_freed(old, before, now, but=uid, given_back=True)
        if old.metadata.resource_version and old.metadata.resource_version == pod.metadata.resource_version:
            return
        engine.queue.update(pod, pod_update_events(old, pod, assigned=False), now)

    def _pod_gone(self, pod: Pod, now: float) -> None:
        engine, uid = self._engine, pod.metadata.uid
        self.pending.pop(uid, None)
        nominated = engine.nominator.node_of(uid)
        engine.nominator.remove(uid)
        if wait := engine.waiting.get(uid):
            wait.reject("", "removed")
        self._leave_queue(uid)
        engine.stories.gone(uid)
        if uid in engine.cluster.pods.by_uid:
            with engine.cluster.statement() as statement:
                placed = statement.give_back(uid)
            self.place_freed(placed.pod, placed.node, now)
        elif nominated:
            self.place_freed(pod, nominated, now)

    def forget(self, uid: str) -> None:
        """Nothing is known of a pod any more but its place, if it has one."""
        self.pending.pop(uid, None)
        self._engine.nominator.remove(uid)
        self._leave_queue(uid)

    def _leave_queue(self, uid: str) -> None:
        """The pod wants no place any more, wherever it waited for one."""
        self._engine.queue.delete(uid)
        if self._engine.extenders is not None:
            self._engine.extenders.forget(uid)

    def _bind_failed(self, event: BindFailed, now: float) -> None:
        uid = event.pod.metadata.uid
        pod = self.pending.get(uid)
        if event.elsewhere and pod is not None and uid in self._engine.binding:
            # Its place counts from now on: the watch may be far behind, and others must not be put there.
            self._bound_pod(pod.on_node(event.elsewhere), now)
        else:
            self._engine.bind_failed(uid, event.message)

    # nodes and other objects

    def _node(self, node: Node, now: float) -> None:
        engine = self._engine
        row = engine.cluster.nodes.rows.get(node.name)
        if row is None:
            changes = [event(NODE, Action.ADD, None, node)]
        else:
            old = engine.cluster.nodes.object_at(row)
            changes = node_update_events(old, node)
            if not changes and old.spec == node.spec and old.status.images == node.status.images:
                return  # a heartbeat: nothing scheduling reads is different
        with engine.cluster.statement() as statement:
            statement.put_node(node)
        for change in changes:
            engine.queue.move_all(change, now)

    def _node_gone(self, node: Node, now: float) -> None:
        engine = self._engine
        if node.name in engine.cluster.nodes.rows:
            engine.queue.move_all(event(NODE, Action.DELETE, node, None), now)
            with engine.cluster.statement() as statement:
                statement.drop_node(node.name)

    def _object(self, found: Object, now: float) -> None:
        before = self._engine.objects.put(found)
        for hook in self._told_objects:
            self._tell(hook, before, found)
        action = Action.UPDATE if before else Action.ADD
        self._engine.queue.move_all(object_event(action, before, found), now)

    def _object_gone(self, found: Object, now: float) -> None:
        before = self._engine.objects.drop(found)
        if before is not None:
            for hook in self._told_objects:
                self._tell(hook, before, None)
            self._engine.queue.move_all(object_event(Action.DELETE, before, None), now)

    def _tick(self, now: float) -> None:
        for wait in list(self._engine.waiting.values()):
            wait.expire(now)
        self._engine.queue.tick(now)
