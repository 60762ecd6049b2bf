"""Pods off the wire, in a few hundred bytes each: what placement can see, shared wherever it is equal.

Pods of a workload share everything but their identity, their node and their times. What no plugin
reads is passed over: environment, mounts, probes, volumes that exist on every node, the states of
containers. A pod that cannot be read is one all the same: it says so, and where it is.
"""

from __future__ import annotations

import msgspec

from mooring.kube.decode.deep_json import read_deeply
from mooring.kube.decode.list_pages import Listed, ReadList
from mooring.kube.decode.metadata import MetaReader, WireMeta, identity
from mooring.kube.decode.pod_specs import SpecReader
from mooring.kube.decode.pod_statuses import StatusReader
from mooring.kube.decode.wire_pods import WirePod
from mooring.model.objects import Pod, PodSpec

Raw = msgspec.Raw


class PodDecoder:
    """Reads pods. One of it reads all pods of a cluster, so that they share what is equal."""

    def __init__(self, meta: MetaReader) -> None:
        self._decode = msgspec.json.Decoder(WirePod).decode
        self.read_list: ReadList = msgspec.json.Decoder(Listed[WirePod]).decode  # looks at each byte once
        self._meta = meta
        self._word = meta.words.of
        self._specs = SpecReader(meta.words)
        self._statuses = StatusReader(meta.words)

    def __call__(self, raw: Raw | bytes | WirePod) -> Pod:
        try:
            wire = raw if type(raw) is WirePod else self._decode(raw)  # type: ignore[arg-type]
        except Exception as error:
            head = read_deeply(decode_pod_head, raw)
            return _unread(head.metadata, head.spec.node_name, head.spec.scheduler_name, error)
        node_name, scheduler_name = wire.spec.node_name, wire.spec.scheduler_name
        try:
            template = self._specs.read(wire.spec)
            return Pod(
                metadata=self._meta.read(wire.metadata),
                spec=template.spec.on_node(self._word(node_name)) if node_name else template.spec,
                status=self._statuses.read(wire.status, template),
            )
        except Exception as error:
            return _unread(wire.metadata, node_name, scheduler_name, error)


class Place(msgspec.Struct, frozen=True, rename="camel"):
    """What has to be known of a pod whatever it says: where it is, and who is to place it."""

    node_name: str = ""
    scheduler_name: str = ""


class PodHead(msgspec.Struct, frozen=True):
    metadata: WireMeta = WireMeta()
    spec: Place = Place()


decode_pod_head = msgspec.json.Decoder(PodHead).decode


def _unread(meta: WireMeta, node_name: str, scheduler_name: str, error: Exception) -> Pod:
    """Stands for a pod that cannot be read."""
    why = str(error) if isinstance(error, msgspec.DecodeError) else f"{type(error).__name__}: {error}"
    spec = PodSpec(node_name=node_name, scheduler_name=scheduler_name, unreadable=f"it cannot be read: {why}")
    return Pod(metadata=identity(meta), spec=spec)
