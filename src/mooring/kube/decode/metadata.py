"""The metadata of objects, with labels, annotations and owners shared between objects that have the same.

Left out are annotations that tell placement nothing and would be different for each object: what
`kubectl apply` keeps for itself, and what network plugins note on a pod once it runs.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

from mooring.kube.decode.fragments import Fragments, Remembered, Words
from mooring.model.objects import ObjectMeta, OwnerReference

UNREAD_ANNOTATIONS = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "cni.projectcalico.org/",
    "k8s.ovn.org/",
    "k8s.v1.cni.cncf.io/network-status",
    "k8s.v1.cni.cncf.io/networks-status",
)

EMPTY = msgspec.Raw()
NONE: dict[str, str] = {}  # shared by everything that has no annotations


class WireMeta(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What is read of an object's metadata; parts that repeat stay raw."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: msgspec.Raw = EMPTY
    annotations: dict[str, str] | None = None
    owner_references: msgspec.Raw = EMPTY
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


class Head(msgspec.Struct, frozen=True):
    """An object of which only the metadata are looked at."""

    metadata: WireMeta = WireMeta()


def identity(meta: WireMeta) -> ObjectMeta:
    """Who an object is, and nothing else."""
    return ObjectMeta(
        name=meta.name,
        namespace=meta.namespace,
        uid=meta.uid,
        resource_version=meta.resource_version,
        deletion_timestamp=meta.deletion_timestamp,
    )


class HalfRead(Protocol):
    """An object off the wire whose parts are still to be read."""

    @property
    def metadata(self) -> WireMeta: ...


decode_head = msgspec.json.Decoder(Head).decode


class MetaReader:
    """Turns metadata off the wire into the model's."""

    def __init__(self) -> None:
        self.words = Words()
        self._labels: Fragments[dict[str, str]] = Fragments(dict[str, str], {}, self.words.mapping)
        self._annotations: Remembered[tuple[tuple[str, str], ...], dict[str, str]] = Remembered()
        self._is_read: Remembered[str, bool] = Remembered()  # by key of an annotation
        self._owners: Fragments[tuple[OwnerReference, ...]] = Fragments(tuple[OwnerReference, ...], ())

    def read(self, meta: WireMeta) -> ObjectMeta:
        word = self.words.of
        return ObjectMeta(
            name=meta.name,
            generate_name=word(meta.generate_name) if meta.generate_name else "",
            namespace=word(meta.namespace) if meta.namespace else "",
            uid=meta.uid,
            resource_version=meta.resource_version,
            generation=meta.generation,
            labels=self._labels.of(meta.labels),
            annotations=self._read_annotations(meta.annotations) if meta.annotations else NONE,
            owner_references=self._owners.of(meta.owner_references),
            creation_timestamp=meta.creation_timestamp,
            deletion_timestamp=meta.deletion_timestamp,
        )

    def _read_annotations(self, found: dict[str, str]) -> dict[str, str]:
        """Those that are read. Not by their bytes: one that differs for each pod would spoil it for all."""
        is_read = self._is_read.known
        try:
            kept = tuple([item for item in found.items() if is_read[item[0]]])
        except KeyError:
            for key in found:
                self._is_read.first(self.words.of(key), not key.startswith(UNREAD_ANNOTATIONS))
            kept = tuple([item for item in found.items() if is_read.get(item[0], True)])
        known = self._annotations.known.get(kept)
        if known is None:
            known = dict(kept)
            if self._annotations.repeats(kept):
                known = self._annotations.first(tuple(sorted(kept)), known)
                self._annotations.keep(kept, known)
        return known
