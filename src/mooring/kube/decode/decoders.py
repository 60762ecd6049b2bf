"""Objects off the wire as the model has them: who reads which kind.

Everything read for one cluster shares what is equal. An object that cannot be read raises
`msgspec.DecodeError` (or its ValidationError), which says what in it is wrong.
"""

from __future__ import annotations

from typing import Any, Protocol

from mooring.kube.decode.list_pages import ReadList
from mooring.kube.decode.metadata import MetaReader
from mooring.kube.decode.nodes import NodeDecoder
from mooring.kube.decode.objects import ObjectDecoder
from mooring.kube.decode.pods import PodDecoder
from mooring.kube.resources import NODES, PODS, Resource
from mooring.model.objects import Node, Object, Pod


class Decoder(Protocol):
    """Reads one object: as it came, or as an item of a page that `read_list` has read."""

    read_list: ReadList

    def __call__(self, raw: Any, /) -> Pod | Node | Object: ...


class Decoders:
    """The decoders of one cluster."""

    def __init__(self) -> None:
        self._meta = MetaReader()
        self.pod = PodDecoder(self._meta)
        self.node = NodeDecoder(self._meta)

    def of(self, resource: Resource, *, whole: bool = False) -> Decoder:
        """Reads objects of a resource. `whole` keeps all of an object of which otherwise a part would do."""
        if resource == PODS:
            return self.pod
        if resource == NODES:
            return self.node
        return ObjectDecoder(resource, self._meta, whole=whole)
