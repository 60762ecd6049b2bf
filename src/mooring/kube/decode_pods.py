"""Pods off the wire, in a few hundred bytes each: what placement can see, shared wherever it is equal.

Pods of a workload share everything but their identity, their node and their times. What no plugin
reads is passed over: environment, mounts, probes, volumes that exist on every node, the states of
containers.
"""

from __future__ import annotations

import msgspec

from mooring.kube.decode_specs import SpecReader
from mooring.kube.decode_statuses import StatusReader
from mooring.kube.lists import Listed, ReadList
from mooring.kube.metadata import MetaReader
from mooring.kube.wire_pods import WirePod
from mooring.model.objects import Pod

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
        wire = raw if type(raw) is WirePod else self._decode(raw)  # type: ignore[arg-type]
        node_name = wire.spec.node_name
        template = self._specs.read(wire.spec)
        return Pod(
            metadata=self._meta.read(wire.metadata),
            spec=template.spec.on_node(self._word(node_name)) if node_name else template.spec,
            status=self._statuses.read(wire.status, template),
        )
