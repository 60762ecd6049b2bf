"""Objects of other kinds off the wire, as plain data.

Of kinds that come in great numbers and carry much that no built-in plugin reads (a ReplicaSet carries a
whole pod template), only what is read is kept. Whoever wants all of such a kind asks for it whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from mooring.kube.decode.fragments import Fragments
from mooring.kube.decode.list_pages import read_raw
from mooring.kube.decode.metadata import EMPTY, UNREAD_ANNOTATIONS, MetaReader, WireMeta
from mooring.kube.resources import Resource
from mooring.model.objects import Object, ObjectMeta

Raw = msgspec.Raw
Plain = dict[str, Any]

MANAGED_FIELDS = "managedFields"  # as long as the rest of the object, and about who wrote it


class WireSelecting(msgspec.Struct, frozen=True, gc=False):
    selector: Raw = EMPTY


class WireBudget(msgspec.Struct, frozen=True, rename="camel", gc=False):
    disruptions_allowed: int = 0
    disrupted_pods: dict[str, Any] | None = None


class WireSlim(msgspec.Struct, frozen=True, gc=False):
    """What is read of a workload, a Service or a disruption budget."""

    metadata: WireMeta = WireMeta()
    spec: WireSelecting = WireSelecting()
    status: WireBudget | None = None


class ObjectDecoder:
    """Reads the objects of one kind."""

    def __init__(self, resource: Resource, meta: MetaReader, *, whole: bool = False) -> None:
        self.read_list = read_raw
        self._resource = resource
        self._meta = meta
        self._selectors: Fragments[Plain] = Fragments(Plain, {})
        self._decode_slim = msgspec.json.Decoder(WireSlim).decode
        self._decode_parts = msgspec.json.Decoder(dict[str, Raw]).decode
        self._decode_meta = msgspec.json.Decoder(WireMeta).decode
        self._read: Callable[[Raw | bytes], tuple[ObjectMeta, Plain]] = self._whole
        if not whole:
            self._read = SLIM.get(resource.kind, ObjectDecoder._without_metadata).__get__(self)

    def __call__(self, raw: Raw | bytes) -> Object:
        meta, data = self._read(raw)
        resource = self._resource
        return Object(api_version=resource.api_version, kind=resource.kind, metadata=meta, data=data)

    def _named(self, raw: Raw | bytes) -> tuple[ObjectMeta, Plain]:
        """The metadata alone, with labels."""
        return self._meta.read(self._decode_slim(raw).metadata), {}

    def _selecting(self, raw: Raw | bytes) -> tuple[ObjectMeta, Plain]:
        """The selector, and who the object is: what else changes on it, changes nothing here."""
        wire = self._decode_slim(raw)
        return self._identity(wire.metadata), {"spec": {"selector": self._selectors.of(wire.spec.selector)}}

    def _budget(self, raw: Raw | bytes) -> tuple[ObjectMeta, Plain]:
        wire = self._decode_slim(raw)
        status = wire.status or WireBudget()
        return self._identity(wire.metadata), {
            "spec": {"selector": self._selectors.of(wire.spec.selector)},
            "status": {
                "disruptionsAllowed": status.disruptions_allowed,
                "disruptedPods": status.disrupted_pods or {},
            },
        }

    def _without_metadata(self, raw: Raw | bytes) -> tuple[ObjectMeta, Plain]:
        """All but the metadata, which are there in their own type."""
        parts = self._decode_parts(raw)
        meta = self._meta.read(self._decode_meta(parts.pop("metadata", b"{}")))
        return meta, {name: msgspec.json.decode(part) for name, part in parts.items()}

    def _whole(self, raw: Raw | bytes) -> tuple[ObjectMeta, Plain]:
        """Everything but what the API server's own bookkeeping adds."""
        parts = self._decode_parts(raw)
        metadata = self._decode_parts(parts.get("metadata", b"{}"))
        metadata.pop(MANAGED_FIELDS, None)
        data = {name: msgspec.json.decode(part) for name, part in parts.items() if name != "metadata"}
        data["metadata"] = {name: msgspec.json.decode(part) for name, part in metadata.items()}
        if notes := data["metadata"].get("annotations"):
            kept = {key: value for key, value in notes.items() if not key.startswith(UNREAD_ANNOTATIONS)}
            data["metadata"]["annotations"] = kept
        return self._meta.read(self._decode_meta(parts.get("metadata", b"{}"))), data

    def _identity(self, meta: WireMeta) -> ObjectMeta:
        return ObjectMeta(
            name=meta.name,
            namespace=self._meta.words.of(meta.namespace),
            uid=meta.uid,
            resource_version=meta.resource_version,
            deletion_timestamp=meta.deletion_timestamp,
        )


SLIM = {
    "Namespace": ObjectDecoder._named,
    "Service": ObjectDecoder._selecting,
    "ReplicationController": ObjectDecoder._selecting,
    "ReplicaSet": ObjectDecoder._selecting,
    "StatefulSet": ObjectDecoder._selecting,
    "PodDisruptionBudget": ObjectDecoder._budget,
}
