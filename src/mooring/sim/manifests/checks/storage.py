"""Mistakes in claims and volumes, which have no type of their own, and in templates of claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mooring.config.struct_check import convert
from mooring.errors import Mistake
from mooring.model.objects import LabelSelector, NodeSelector, ObjectMeta, Wire
from mooring.sim.manifests.checks import quantities
from mooring.sim.manifests.located_value import Spot


def storage_mistakes(kind: str, spot: Spot) -> Iterator[Mistake]:
    """What is wrong within one object of a kind of storage."""
    return STORAGE.get(kind, _nothing)(spot)


def claim_templates(templates: Spot) -> Iterator[Mistake]:
    """The `volumeClaimTemplates` of a StatefulSet."""
    yield from shape(templates, list, "a list")
    for template in templates.items():
        yield from claim_template(template)


def claim_template(template: Spot) -> Iterator[Mistake]:
    """A claim that is made when there is a pod for it."""
    yield from mapping(template)
    yield from typed(template.child("metadata"), ObjectMeta)
    yield from _claim(template)


def _claim(claim: Spot) -> Iterator[Mistake]:
    yield from mapping(claim.child("spec"))
    yield from mapping(claim.child("spec", "resources"))
    yield from amounts(claim.child("spec", "resources", "requests"))
    yield from shape(claim.child("spec", "accessModes"), list, "a list")
    yield from typed(claim.child("spec", "selector"), LabelSelector)
    for field in ("storageClassName", "volumeName", "volumeMode"):
        yield from shape(claim.child("spec", field), str, "text")
    yield from mapping(claim.child("status"))


def _volume(volume: Spot) -> Iterator[Mistake]:
    yield from mapping(volume.child("spec"))
    yield from amounts(volume.child("spec", "capacity"))
    yield from shape(volume.child("spec", "accessModes"), list, "a list")
    yield from mapping(volume.child("spec", "nodeAffinity"))
    yield from typed(volume.child("spec", "nodeAffinity", "required"), NodeSelector)
    yield from mapping(volume.child("spec", "claimRef"))
    for field in ("storageClassName", "persistentVolumeReclaimPolicy", "volumeMode"):
        yield from shape(volume.child("spec", field), str, "text")
    yield from mapping(volume.child("status"))


def _class(storage_class: Spot) -> Iterator[Mistake]:
    for field in ("provisioner", "volumeBindingMode", "reclaimPolicy"):
        yield from shape(storage_class.child(field), str, "text")


def amounts(found: Spot) -> Iterator[Mistake]:
    """A mapping of resources to quantities."""
    yield from mapping(found)
    yield from quantities.resource_list(found)
    for amount in found.entries():
        if isinstance(amount.value, dict | list | bool):
            yield amount.wrong("is not a quantity")


def typed(spot: Spot, kind: type[Wire]) -> Iterator[Mistake]:
    """Something that is read into a type."""
    if spot.value is not None:
        _, mistakes = convert(spot.document, spot.path, kind, ignore_unknown=True)
        yield from mistakes


def mapping(spot: Spot) -> Iterator[Mistake]:
    """A mapping, if there is anything."""
    return shape(spot, dict, "a mapping")


def shape(spot: Spot, wanted: type, words: str) -> Iterator[Mistake]:
    """A value of one of Python's own types, if there is any."""
    if spot.value is not None and not isinstance(spot.value, wanted):
        yield spot.wrong(f"is not {words}")


def _nothing(spot: Spot) -> Iterator[Mistake]:
    return iter(())


STORAGE: dict[str, Callable[[Spot], Iterator[Mistake]]] = {
    "PersistentVolumeClaim": _claim,
    "PersistentVolume": _volume,
    "StorageClass": _class,
}
