"""Storage objects with only what scheduling reads of them. Each object is read once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

import msgspec

from mooring.model.objects import LabelSelector, NodeSelector, Object
from mooring.model.plain import amount, items, part, read, text, words
from mooring.model.selectors import NodeTerm, Requirement, SelectorError, label_requirements
from mooring.plugins.volumes.migration import CsiVolume, csi_volume
from mooring.plugins.wanted_nodes import readable_terms

PERSISTENT_VOLUME, CLAIM = "PersistentVolume", "PersistentVolumeClaim"
STORAGE_CLASS, CSI_NODE, CSI_DRIVER = "StorageClass", "CSINode", "CSIDriver"
CAPACITY, ATTACHMENT = "CSIStorageCapacity", "VolumeAttachment"

SELECTED_NODE = "volume.kubernetes.io/selected-node"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
MIGRATED_PLUGINS = "storage.alpha.kubernetes.io/migrated-plugins"
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
FILESYSTEM = "Filesystem"
WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer"
FEW = 1024  # objects that may be known besides twice as many as there were

T = TypeVar("T")
Requirements = tuple[Requirement, ...]


class ReadOnce(Generic[T]):
    """What an object says, worked out when the object is first met. Those that are gone are forgotten."""

    def __init__(self, read: Callable[[Object], T]) -> None:
        self._read = read
        self._known: dict[str, tuple[Object, T]] = {}
        self._most = FEW

    def __len__(self) -> int:
        return len(self._known)

    def __call__(self, found: Object, among: Iterable[Object] = ()) -> T:
        """`among` are the objects of the kind that are there now."""
        known = self._known.get(found.key)
        if known is not None and known[0] is found:
            return known[1]
        if len(self._known) >= self._most:
            self._forget(among)
        value = self._read(found)
        self._known[found.key] = (found, value)
        return value

    def _forget(self, among: Iterable[Object]) -> None:
        known, self._known = self._known, {}
        for each in among:
            if (kept := known.get(each.key)) is not None:
                self._known[each.key] = kept
        self._most = 2 * len(self._known) + FEW


class ClaimRef(msgspec.Struct, frozen=True):
    """The claim a volume is for. Without a uid, any claim of that name."""

    key: str
    uid: str = ""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """A PersistentVolumeClaim."""

    object: Object
    class_name: str = ""
    volume_name: str = ""
    size: int | None = None
    access_modes: frozenset[str] = frozenset()
    volume_mode: str = FILESYSTEM
    attributes_class: str = ""
    selector: LabelSelector | None = None
    phase: str = ""
    selected_node: str | None = None
    bind_completed: bool = False

    @property
    def key(self) -> str:
        return self.object.key

    @property
    def name(self) -> str:
        return self.object.metadata.name

    @property
    def uid(self) -> str:
        return self.object.metadata.uid

    @property
    def bound(self) -> bool:
        """The volume is named, and whoever binds volumes is done with it."""
        return bool(self.volume_name) and self.bind_completed

    @property
    def owner(self) -> str:
        """The uid of what controls the claim: a pod, when an ephemeral volume asked for it."""
        return next((o.uid for o in self.object.metadata.owner_references if o.controller), "")


class Volume(msgspec.Struct, frozen=True, kw_only=True):
    """A PersistentVolume."""

    object: Object
    class_name: str = ""
    size: int = 0
    access_modes: frozenset[str] = frozenset()
    volume_mode: str = FILESYSTEM
    attributes_class: str = ""
    claim: ClaimRef | None = None
    affinity: tuple[NodeTerm, ...] | None = None  # None: it can be reached from every node
    phase: str = ""
    csi: CsiVolume | None = None

    @property
    def name(self) -> str:
        return self.object.metadata.name

    @property
    def labels(self) -> dict[str, str]:
        return self.object.metadata.labels

    def is_for(self, claim: Claim) -> bool:
        """The volume says it belongs to the claim."""
        ref = self.claim
        return ref is not None and ref.key == claim.key and ref.uid in ("", claim.uid)

    def reachable(self, node_name: str, labels: Mapping[str, str]) -> bool:
        """A pod on the node can use the volume."""
        return self.affinity is None or any(term.matches(node_name, labels) for term in self.affinity)


class StorageClass(msgspec.Struct, frozen=True):
    name: str
    provisioner: str = ""
    binding_mode: str | None = None
    topologies: tuple[NodeTerm, ...] = ()  # none: everywhere

    def reaches(self, labels: Mapping[str, str]) -> bool:
        """A volume of the class can be made for a node with these labels."""
        return not self.topologies or any(term.matches("", labels) for term in self.topologies)


class CsiNode(msgspec.Struct, frozen=True):
    """The drivers on a node, how many volumes each can attach, and the in-tree plugins they stand in for."""

    drivers: frozenset[str] = frozenset()
    limits: dict[str, int] = {}
    migrated: frozenset[str] = frozenset()


class CsiDriver(msgspec.Struct, frozen=True):
    name: str
    checks_capacity: bool = False
    must_be_installed: bool = False


class Capacity(msgspec.Struct, frozen=True):
    """Room for volumes of a class on the nodes that match. Without requirements no node does."""

    class_name: str
    total: int | None = None
    limit: int | None = None  # of a single volume
    nodes: Requirements | None = None

    def reaches(self, labels: Mapping[str, str]) -> bool:
        return self.nodes is not None and all(r.matches(labels.get(r.key)) for r in self.nodes)


class Attachment(msgspec.Struct, frozen=True):
    """A volume that is, or is being, attached to a node."""

    node: str
    driver: str
    volume_name: str = ""
    inline: CsiVolume | None = None


def _claim(found: Object) -> Claim:
    spec, notes = part(found.data, "spec"), found.metadata.annotations
    selector = spec.get("selector")
    return Claim(
        object=found,
        class_name=notes.get(BETA_CLASS, text(spec, "storageClassName")),
        volume_name=text(spec, "volumeName"),
        size=amount(part(spec, "resources", "requests"), "storage"),
        access_modes=words(spec, "accessModes"),
        volume_mode=text(spec, "volumeMode") or FILESYSTEM,
        attributes_class=text(spec, "volumeAttributesClassName"),
        selector=None if selector is None else read(selector, LabelSelector),
        phase=text(part(found.data, "status"), "phase"),
        selected_node=notes.get(SELECTED_NODE),
        bind_completed=BIND_COMPLETED in notes,
    )


def _volume(found: Object) -> Volume:
    spec, meta = part(found.data, "spec"), found.metadata
    ref = part(spec, "claimRef")
    claim = ClaimRef(f"{text(ref, 'namespace')}/{text(ref, 'name')}", text(ref, "uid")) if ref else None
    return Volume(
        object=found,
        class_name=meta.annotations.get(BETA_CLASS, text(spec, "storageClassName")),
        size=amount(part(spec, "capacity"), "storage") or 0,
        access_modes=words(spec, "accessModes"),
        volume_mode=text(spec, "volumeMode") or FILESYSTEM,
        attributes_class=text(spec, "volumeAttributesClassName"),
        claim=claim,
        affinity=_affinity(part(spec, "nodeAffinity").get("required")),
        phase=text(part(found.data, "status"), "phase"),
        csi=csi_volume(spec, meta.labels),
    )


def _storage_class(found: Object) -> StorageClass:
    topologies = tuple(_topology(term) for term in items(found.data, "allowedTopologies"))
    mode = text(found.data, "volumeBindingMode") or None
    return StorageClass(found.metadata.name, text(found.data, "provisioner"), mode, topologies)


def _csi_node(found: Object) -> CsiNode:
    drivers = [part(each) for each in items(part(found.data, "spec"), "drivers")]
    counts = {text(each, "name"): part(each, "allocatable").get("count") for each in drivers}
    return CsiNode(
        drivers=frozenset(counts),
        limits={name: int(count) for name, count in counts.items() if count is not None},
        migrated=frozenset(found.metadata.annotations.get(MIGRATED_PLUGINS, "").split(",")) - {""},
    )


def _csi_driver(found: Object) -> CsiDriver:
    spec = part(found.data, "spec")
    required = spec.get("preventPodSchedulingIfMissing") is True
    return CsiDriver(found.metadata.name, spec.get("storageCapacity") is True, required)


def _capacity(found: Object) -> Capacity:
    total = amount(found.data, "capacity")
    largest = amount(found.data, "maximumVolumeSize")
    topology = found.data.get("nodeTopology")
    nodes = None if topology is None else _readable(read(topology, LabelSelector))
    limit = total if largest is None else largest
    return Capacity(text(found.data, "storageClassName"), total, limit, nodes)


def _attachment(found: Object) -> Attachment:
    spec = part(found.data, "spec")
    source = part(spec, "source")
    inline = csi_volume(part(source, "inlineVolumeSpec"), {})
    return Attachment(
        text(spec, "nodeName"), text(spec, "attacher"), text(source, "persistentVolumeName"), inline
    )


def _affinity(required: Any) -> tuple[NodeTerm, ...] | None:
    """A term that cannot be read matches no node."""
    if required is None:
        return None
    return readable_terms(read(required, NodeSelector).node_selector_terms)


def _topology(term: Any) -> NodeTerm:
    wanted = [part(each) for each in items(part(term), "matchLabelExpressions")]
    return NodeTerm(tuple(Requirement(text(each, "key"), "In", words(each, "values")) for each in wanted))


def _readable(selector: LabelSelector) -> Requirements | None:
    try:
        return label_requirements(selector)
    except SelectorError:
        return None


read_claim = ReadOnce(_claim)
read_volume = ReadOnce(_volume)
read_storage_class = ReadOnce(_storage_class)
read_csi_node = ReadOnce(_csi_node)
read_csi_driver = ReadOnce(_csi_driver)
read_capacity = ReadOnce(_capacity)
read_attachment = ReadOnce(_attachment)
