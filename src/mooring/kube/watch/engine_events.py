"""From changes of objects to what the engine is told; and which changes it need not be told of."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mooring.engine.events import (
    Event,
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
)
from mooring.model.objects import Node, Object, ObjectMeta, Pod

Tell = Callable[[Event], None]


class Intake:
    """Hands changes to the engine, each as one event."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell

    def not_read(self, about: Object, error: str) -> None:
        """An object cannot be read."""
        self._tell(NotRead(about, error))

    def pod(self, old: Pod | None, new: Pod | None) -> None:
        """A pod that has finished arrives as one that is gone: finished pods are not watched."""
        if new is None:
            if old is not None:
                self._tell(PodDeleted(old))
        else:
            self._tell(PodAdded(new) if old is None else PodChanged(new))

    def node(self, old: Node | None, new: Node | None) -> None:
        if new is None:
            if old is not None:
                self._tell(NodeDeleted(old))
        else:
            self._tell(NodeAdded(new) if old is None else NodeChanged(new))

    def object(self, old: Object | None, new: Object | None) -> None:
        if new is None:
            if old is not None:
                self._tell(ObjectDeleted(old))
        else:
            self._tell(ObjectAdded(new) if old is None else ObjectChanged(new))


def same_pod(old: Pod, new: Pod) -> bool:
    """Nothing that is kept of the pod differs: some container started, or became ready."""
    return old.status == new.status and old.spec == new.spec and _same_metadata(old.metadata, new.metadata)


def same_node(old: Node, new: Node) -> bool:
    """Nothing that is kept of the node differs: a heartbeat."""
    return old.status == new.status and old.spec == new.spec and _same_metadata(old.metadata, new.metadata)


def same_object(old: Object, new: Object) -> bool:
    return old.data == new.data and _same_metadata(old.metadata, new.metadata)


def _same_metadata(old: ObjectMeta, new: ObjectMeta) -> bool:
    """The versions aside, which count all changes."""
    aligned = msgspec.structs.replace(new, resource_version=old.resource_version, generation=old.generation)
    return aligned == old
