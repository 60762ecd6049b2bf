"""Objects that cannot be taken in: each costs itself, and nothing else.

It is told once for each mistake, counted, and shown on the pod that waits. What was known of it before is
forgotten, and until it can be read the engine supposes the worst of it: a pod on a node takes all there is
of cpu, memory and ephemeral storage unless its request can be read, and a node has nothing to give.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mooring.cluster.charge import Charge
from mooring.cluster.recent import Recent
from mooring.engine.decisions import SCHEDULER_ERROR, Wait
from mooring.engine.events import (
    Event,
    NodeAdded,
    NodeChanged,
    NotRead,
    ObjectAdded,
    ObjectChanged,
    ObjectDeleted,
    PodAdded,
    PodChanged,
    PodDeleted,
)
from mooring.errors import MooringError
from mooring.framework.measures import NOT_TAKEN_IN
from mooring.model.amounts import LARGEST
from mooring.model.objects import Node, NodeSpec, ObjectMeta, Pod, PodSpec

if TYPE_CHECKING:
    from mooring.engine.engine import Engine

log = logging.getLogger("mooring.engine")

TOLD = 1000  # mistakes that are not told again
EVERYTHING = Charge(
    tuple((name, LARGEST) for name in ("cpu", "memory", "ephemeral-storage")), LARGEST, LARGEST, heavy=True
)


class Refusals:
    """What becomes of an event that could not be taken in."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._told: Recent[tuple[str, str, str], bool] = Recent(TOLD)
        self._handlers: dict[type[Any], Callable[[Any, str], None]] = {
            PodAdded: lambda event, why: self._pod(event.pod, why),
            PodChanged: lambda event, why: self._pod(event.pod, why),
            PodDeleted: lambda event, why: self._pod(event.pod, why, gone=True),
            NodeAdded: lambda event, why: self._node(event.node),
            NodeChanged: lambda event, why: self._node(event.node),
        }

    def refuse(self, event: Event, error: Exception) -> None:
        """The event has failed on the way. Leaves the engine without a trace of its object, or nearly so."""
        kind, meta = _about(event)
        known = isinstance(error, MooringError)
        why = str(error) if known else f"{type(error).__name__}: {error}"
        self.count(kind)
        self._tell(kind, meta, why, None if known else error)
        handler = self._handlers.get(type(event))
        if handler is not None:
            handler(event, why)

    def _tell(self, kind: str, meta: ObjectMeta, why: str, trace: Exception | None) -> None:
        """Once for each mistake."""
        told = (kind, meta.uid or meta.name, why)
        if self._told.get(told) is None:
            self._told.put(told, True)
            name = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
            log.error("%s %s cannot be taken in: %s", kind, name, why, exc_info=trace)

    def count(self, kind: str) -> None:
        if self._engine.meter is not None:
            self._engine.meter.count(NOT_TAKEN_IN, kind).value += 1

    def _pod(self, pod: Pod, why: str, *, gone: bool = False) -> None:
        engine, uid = self._engine, pod.metadata.uid
        engine.forget(uid)
        with engine.cluster.statement() as statement:
            if uid in engine.cluster.pods.by_uid:
                statement.give_back(uid)
            if pod.spec.node_name and not gone:
                stand_in = _stand_in(pod)
                statement.take(stand_in, pod.spec.node_name, bound=True, charge=self._charge(pod))
        if not gone and not pod.spec.node_name and pod.spec.scheduler_name in engine.profiles:
            engine.decide(Wait(pod, SCHEDULER_ERROR, why))

    def _charge(self, pod: Pod) -> Charge:
        """What a pod takes; all there is when that cannot be told, so that nobody is put in its place."""
        if pod.spec.unreadable:
            return EVERYTHING
        try:
            return self._engine.cluster.charges.of(pod, bound=True)
        except Exception:
            return EVERYTHING

    def _node(self, node: Node) -> None:
        engine = self._engine
        if node.name in engine.cluster.nodes.rows:
            with engine.cluster.statement() as statement:
                statement.put_node(Node(metadata=_identity(node.metadata), spec=NodeSpec(unschedulable=True)))


def _about(event: Event) -> tuple[str, ObjectMeta]:
    match event:
        case NotRead():
            return event.kind, ObjectMeta(name=event.name)
        case ObjectAdded() | ObjectChanged() | ObjectDeleted():
            return event.object.kind, event.object.metadata
        case _ if (found := getattr(event, "pod", None) or getattr(event, "node", None)) is not None:
            return type(found).__name__, found.metadata
    return type(event).__name__, ObjectMeta()


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
