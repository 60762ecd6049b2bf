"""Objects that cannot be taken in: each costs itself, and nothing else.

It is counted, and told once for each mistake, in the log and by an Event on it; a pod that waits says so.
What was known of it before is forgotten, and until it can be read the engine supposes the worst of it: a pod
on a node takes all there is of cpu, memory and ephemeral storage unless its request can be read, and a node
has nothing to give.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from mooring.cluster.charge import Charge
from mooring.cluster.newest_entries import Recent
from mooring.engine.decisions import SCHEDULER_ERROR, Decision, Refuse, Wait
from mooring.engine.events import (
    Event,
    NodeAdded,
    NodeChanged,
    NodeDeleted,
    NotRead,
    ObjectDeleted,
    PodAdded,
    PodChanged,
    PodDeleted,
)
from mooring.engine.hook_table import tell
from mooring.engine.intake.ingest import Ingest
from mooring.engine.parts import Parts
from mooring.errors import MooringError
from mooring.framework.metrics.families import NOT_TAKEN_IN
from mooring.model.amounts import LARGEST
from mooring.model.objects import Node, NodeSpec, Object, ObjectMeta, Pod, PodSpec

log = logging.getLogger("mooring.engine")

TOLD = 1000  # mistakes that are not told again
STANDING = 1000  # objects that are shown once more to who begins to lead
EVERYTHING = Charge(
    tuple((name, LARGEST) for name in ("cpu", "memory", "ephemeral-storage")), LARGEST, LARGEST, heavy=True
)


class Refusals:
    """What becomes of an event that could not be taken in."""

    def __init__(self, parts: Parts, ingest: Ingest) -> None:
        self._parts = parts
        self._ingest = ingest
        self._told: Recent[tuple[str, str, str], bool] = Recent(TOLD)
        self.standing: dict[str, Decision] = {}  # what is told of objects that are there, by uid
        self._handlers: dict[type[Any], Callable[[Any, str], None]] = {
            PodAdded: lambda event, why: self._pod(event.pod, why),
            PodChanged: lambda event, why: self._pod(event.pod, why),
            PodDeleted: lambda event, why: self._pod(event.pod, why, gone=True),
            NodeAdded: lambda event, why: self._node(event.node),
            NodeChanged: lambda event, why: self._node(event.node),
        }

    def refuse(self, event: Event, error: Exception) -> None:
        """The event has failed on the way. Leaves the engine without a trace of its object, or nearly so."""
        about = _about(event)
        kind = _kind(about) if about is not None else type(event).__name__
        known = isinstance(error, MooringError)
        why = str(error) if known else f"{type(error).__name__}: {error}"
        self._count(kind)
        meta = ObjectMeta() if about is None else about.metadata
        if is_new := self._is_new(kind, meta, why):
            name = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
            log.error("%s %s cannot be taken in: %s", kind, name, why, exc_info=None if known else error)
        if about is not None and not self._is_to_wait(about):
            self._show(self._refused(about, f"cannot be taken in: {why}"), is_new=is_new)
        if isinstance(event, PodDeleted | NodeDeleted | ObjectDeleted):
            self.standing.pop(_who(meta), None)
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event, why)

    def not_read(self, event: NotRead) -> None:
        """Whoever could not read it has logged it, and knows nothing of it but who it is."""
        about, kind = event.about, event.about.kind
        self._count(kind)
        if about.metadata.uid:
            is_new = self._is_new(kind, about.metadata, event.error)
            self._show(self._refused(about, f"cannot be read: {event.error}"), is_new=is_new)

    def went_well(self, event: Event) -> None:
        """What an event is about is taken in, or gone."""
        if type(event) is not NotRead and (about := _about(event)) is not None:
            self.standing.pop(_who(about.metadata), None)

    def _is_new(self, kind: str, meta: ObjectMeta, why: str) -> bool:
        """Whether a mistake was not told yet."""
        told = (kind, _who(meta), why)
        if self._told.get(told) is not None:
            return False
        self._told.put(told, True)
        return True

    def _refused(self, about: Pod | Node | Object, message: str) -> Refuse:
        version = about.api_version if isinstance(about, Object) else "v1"
        meta = _identity(about.metadata)
        named = Object(api_version=version, kind=_kind(about), metadata=meta, data={})
        return Refuse(named, message, next(iter(self._parts.hooks.profiles)))

    def _show(self, decision: Refuse | Wait, *, is_new: bool = True) -> None:
        """Now, unless that was done; and to who begins to decide: before, nobody carries decisions out."""
        about = decision.about if isinstance(decision, Refuse) else decision.pod
        standing = self.standing
        standing[_who(about.metadata)] = decision
        if len(standing) > STANDING:  # nobody is told when an object goes that was never read
            del standing[next(iter(standing))]
        if is_new:
            self._parts.decided.append(decision)

    def _is_to_wait(self, about: Pod | Node | Object) -> bool:
        """Whether it is a pod that we are to place."""
        if not isinstance(about, Pod) or about.spec.node_name:
            return False
        return about.spec.scheduler_name in self._parts.hooks.profiles

    def _count(self, kind: str) -> None:
        if self._parts.meter is not None:
            self._parts.meter.count(NOT_TAKEN_IN, kind).value += 1

    def _pod(self, pod: Pod, why: str, *, gone: bool = False) -> None:
        parts, uid = self._parts, pod.metadata.uid
        self._ingest.forget(uid)
        parts.binding.pop(uid, None)
        parts.waiting.pop(uid, None)
        with parts.cluster.statement() as statement:
            if uid in parts.cluster.pods.by_uid:
                statement.give_back(uid)
            if pod.spec.node_name and not gone:
                stand_in = _stand_in(pod)
                statement.take(stand_in, pod.spec.node_name, bound=True, charge=self._charge(pod))
        for hook in parts.hooks.pod_gone:  # of a gang, say: nothing but its place is certain
            tell(hook, pod)
        if not gone and self._is_to_wait(pod):
            self._show(Wait(pod, SCHEDULER_ERROR, why))

    def _charge(self, pod: Pod) -> Charge:
        """What a pod takes; all there is when that cannot be told, so that nobody is put in its place."""
        if pod.spec.unreadable:
            return EVERYTHING
        try:
            return self._parts.cluster.charges.of(pod, bound=True)
        except Exception:
            return EVERYTHING

    def _node(self, node: Node) -> None:
        parts = self._parts
        if node.name in parts.cluster.nodes.rows:
            with parts.cluster.statement() as statement:
                statement.put_node(Node(metadata=_identity(node.metadata), spec=NodeSpec(unschedulable=True)))


def _about(event: Event) -> Pod | Node | Object | None:
    for name in ("object", "pod", "node", "about"):
        if isinstance(found := getattr(event, name, None), Pod | Node | Object):
            return found
    return None


def _who(meta: ObjectMeta) -> str:
    return meta.uid or meta.name


def _kind(about: Pod | Node | Object) -> str:
    return about.kind if isinstance(about, Object) else type(about).__name__


def _stand_in(pod: Pod) -> Pod:
    """Holds the place of a pod of which nothing but that is certain."""
    spec = PodSpec(
        node_name=pod.spec.node_name, scheduler_name=pod.spec.scheduler_name, priority=pod.spec.priority
    )
    return Pod(metadata=_identity(pod.metadata), spec=spec)


def _identity(meta: ObjectMeta) -> ObjectMeta:
    return ObjectMeta(
        name=meta.name, namespace=meta.namespace, uid=meta.uid, resource_version=meta.resource_version
    )
