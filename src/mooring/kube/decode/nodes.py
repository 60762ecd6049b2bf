"""Nodes off the wire, without what a kubelet repeats every few minutes: heartbeats, addresses, versions.

Images, amounts of resources and conditions are shared by the nodes that report the same. A node that cannot
be read has nothing to give.
"""

from __future__ import annotations

import logging

import msgspec

from mooring.kube.decode.deep_json import read_deeply
from mooring.kube.decode.fragments import Fragments, Remembered
from mooring.kube.decode.list_pages import Listed, ReadList
from mooring.kube.decode.metadata import EMPTY, MetaReader, WireMeta, decode_head, identity
from mooring.model.objects import ContainerImage, Node, NodeCondition, NodeSpec, NodeStatus, Resources, Taint

Raw = msgspec.Raw
log = logging.getLogger(__name__)


class WireNodeSpec(msgspec.Struct, frozen=True, rename="camel", gc=False):
    taints: Raw = EMPTY
    unschedulable: bool = False
    provider_id: str = msgspec.field(name="providerID", default="")


class WireNodeStatus(msgspec.Struct, frozen=True, rename="camel", gc=False):
    capacity: Raw = EMPTY
    allocatable: Raw = EMPTY
    images: tuple[Raw, ...] | None = None
    conditions: tuple[NodeCondition, ...] | None = None
    declared_features: Raw = EMPTY


class WireNode(msgspec.Struct, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: WireNodeSpec = WireNodeSpec()
    status: WireNodeStatus = WireNodeStatus()


class NodeDecoder:
    """Reads nodes. One of it reads all nodes of a cluster, so that they share what is equal."""

    def __init__(self, meta: MetaReader) -> None:
        self._decode = msgspec.json.Decoder(WireNode).decode
        self.read_list: ReadList = msgspec.json.Decoder(Listed[WireNode]).decode  # looks at each byte once
        self._meta = meta
        self._taints: Fragments[tuple[Taint, ...]] = Fragments(tuple[Taint, ...], ())
        self._amounts: Fragments[Resources] = Fragments(Resources, {})
        self._image: Fragments[ContainerImage] = Fragments(ContainerImage, ContainerImage())
        self._features: Fragments[tuple[str, ...]] = Fragments(tuple[str, ...], ())
        self._conditions: Remembered[tuple[NodeCondition, ...], tuple[NodeCondition, ...]] = Remembered()

    def __call__(self, raw: Raw | bytes | WireNode) -> Node:
        try:
            return self._read(raw)
        except Exception as error:
            meta = raw.metadata if type(raw) is WireNode else read_deeply(decode_head, raw).metadata
            log.error("Node %s cannot be read and takes no pods: %s", meta.name, error)
            return Node(metadata=identity(meta), spec=NodeSpec(unschedulable=True))

    def _read(self, raw: Raw | bytes | WireNode) -> Node:
        wire = raw if type(raw) is WireNode else self._decode(raw)  # type: ignore[arg-type]
        spec, status = wire.spec, wire.status
        return Node(
            metadata=self._meta.read(wire.metadata),
            spec=NodeSpec(
                taints=self._taints.of(spec.taints),
                unschedulable=spec.unschedulable,
                provider_id=spec.provider_id,
            ),
            status=NodeStatus(
                capacity=self._amounts.of(status.capacity),
                allocatable=self._amounts.of(status.allocatable),
                images=tuple(map(self._image.of, status.images or ())),
                conditions=self._conditions.first(status.conditions, status.conditions)
                if status.conditions
                else (),
                declared_features=self._features.of(status.declared_features),
            ),
        )
