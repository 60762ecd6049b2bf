"""What the engine is told, as plain data: nothing in it refers back, so there are no cycles to look for."""

from __future__ import annotations

import msgspec

from mooring.model.objects import Node, Object, Pod


class PodAdded(msgspec.Struct, frozen=True, tag=True, gc=False):
    pod: Pod


class PodChanged(msgspec.Struct, frozen=True, tag=True, gc=False):
    pod: Pod


class PodDeleted(msgspec.Struct, frozen=True, tag=True, gc=False):
    pod: Pod


class NodeAdded(msgspec.Struct, frozen=True, tag=True, gc=False):
    node: Node


class NodeChanged(msgspec.Struct, frozen=True, tag=True, gc=False):
    node: Node


class NodeDeleted(msgspec.Struct, frozen=True, tag=True, gc=False):
    node: Node


class ObjectAdded(msgspec.Struct, frozen=True, tag=True, gc=False):
    """An object of any other kind."""

    object: Object


class ObjectChanged(msgspec.Struct, frozen=True, tag=True, gc=False):
    object: Object


class ObjectDeleted(msgspec.Struct, frozen=True, tag=True, gc=False):
    object: Object


class Bound(msgspec.Struct, frozen=True, tag=True, gc=False):
    """A `Bind` decision was carried out."""

    pod: Pod
    node: str


class BindFailed(msgspec.Struct, frozen=True, tag=True, gc=False):
    """A `Bind` decision could not be carried out; the message says why.

    `elsewhere` is the node the pod is on by now, when somebody else was faster.
    """

    pod: Pod
    node: str
    message: str
    elsewhere: str = ""


class Consulted(msgspec.Struct, frozen=True, tag=True, gc=False):
    """What came of the `Consult` of that number: the bytes the extender answers, or why there are none."""

    pod: Pod
    extender: int
    verb: str
    number: int
    answer: bytes = b""
    error: str = ""


class EvictFailed(msgspec.Struct, frozen=True, tag=True, gc=False):
    """An `Evict` decision could not be carried out: the pod stays. `by` is who it was to make room for."""

    pod: Pod
    by: str
    message: str


class NotRead(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The API server shows an object that cannot be read; what is known of it stays."""

    about: Object  # as much of it as can be told
    error: str


class Tick(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Time has passed."""


Event = (
    PodAdded
    | PodChanged
    | PodDeleted
    | NodeAdded
    | NodeChanged
    | NodeDeleted
    | ObjectAdded
    | ObjectChanged
    | ObjectDeleted
    | Bound
    | BindFailed
    | Consulted
    | EvictFailed
    | NotRead
    | Tick
)
