"""Mistakes in claims and volumes, which have no type of their own, and in templates of claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mooring.config.struct_check import convert
from mooring.errors import Mistake
from mooring.model.objects import LabelSelector, NodeSelector, ObjectMeta
from mooring.sim.manifests.checks import quantities
from mooring.sim.manifests.located_value import Spot


def storage_mistakes(kind: str, spot: Spot) -> Iterator[Mistake]:
    """What is wrong within one object of a kind of storage."""
    return STORAGE.get(kind, _nothing)(spot)


def claim_templates(templates: Spot) -> Iterator[Mistake]:
    """The `volumeClaimTemplates` of a StatefulSet."""
    yield from _shape(templates, list, "a list")
    for template in templates.items():
        yield from claim_template(template)


def claim_template(template: Spot) -> Iterator[Mistake]:
    """A claim that is made when there is a pod for it."""
    yield from _mapping(template)
    yield from _typed(template.child("metadata"), ObjectMeta)
    yield from _claim(template)


def _claim(claim: Spot) -> Iterator[Mistake]:
    yield from _mapping(claim.child("spec"))
    yield from _mapping(claim.child("spec", "resources"))
    yield from _amounts(claim.child("spec", "resources", "requests"))
    yield from _shape(claim.child("spec", "accessModes"), list, "a list")
    yield from _typed(claim.child("spec", "selector"), LabelSelector)
    for field in ("storageClassName", "volumeName", "volumeMode"):
        yield from _shape(claim.child("spec", field), str, "text")
    yield from _mapping(claim.child("status"))


def _volume(volume: Spot) -> Iterator[Mistake]:
    yield from _mapping(volume.child("spec"))
    yield from _amounts(volume.child("spec", "capacity"))
    yield from _shape(volume.child("spec", "accessModes"), list, "a list")
    yield from _mapping(volume.child("spec", "nodeAffinity"))
    yield from _typed(volume.child("spec", "nodeAffinity", "required"), NodeSelector)
    yield from _mapping(volume.child("spec", "claimRef"))
    for field in ("storageClassName", "persistentVolumeReclaimPolicy", "volumeMode"):
        yield from _shape(volume.child("spec", field), str, "text")
    yield from _mapping(volume.child("status"))


def _class(storage_class: Spot) -> Iterator[Mistake]:
    for field in ("provisioner", "volumeBindingMode", "reclaimPolicy"):
        yield from _shape(storage_class.child(field), str, "text")


def _amounts(amounts: Spot) -> Iterator[Mistake]:
    yield from _mapping(amounts)
    yield from quantities.resource_list(amounts)
    for amount in amounts.entries():
        if isinstance(amount.value, dict | list | bool):
            yield amount.wrong("is not a quantity")


def _typed(spot: Spot, kind: type[NodeSelector | LabelSelector | ObjectMeta]) -> Iterator[Mistake]:
    if spot.value is not None:
        _, mistakes = convert(spot.document, spot.path, kind, ignore_unknown=True)
        yield from mistakes


def _mapping(spot: Spot) -> Iterator[Mistake]:
    return _shape(spot, dict, "a mapping")


def _shape(spot: Spot, wanted: type, words: str) -> Iterator[Mistake]:
    if spot.value is not None and not isinstance(spot.value, wanted):
        yield spot.wrong(f"is not {words}")


def _nothing(spot: Spot) -> Iterator[Mistake]:
    return iter(())


STORAGE: dict[str, Callable[[Spot], Iterator[Mistake]]] = {
    "PersistentVolumeClaim": _claim,
    "PersistentVolume": _volume,
    "StorageClass": _class,
}
