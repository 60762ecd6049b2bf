"""Claims that come with pods: those of StatefulSets, and those of ephemeral volumes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.engine.events import Event, PodAdded, PodDeleted
from mooring.model.objects import Object, ObjectMeta, OwnerReference, Pod, PodSpec
from mooring.sim.world.kubelet import is_finished
from mooring.sim.world.world import World

CLAIM = "PersistentVolumeClaim"


class EphemeralClaims:
    """Makes a claim for each ephemeral volume of a pod, and deletes it with the pod."""

    def __init__(self, world: World) -> None:
        self._world = world
        world.subscribe(self._hear)

    def _hear(self, event: Event) -> None:
        match event:
            case PodAdded(pod) if pod.spec.volumes:
                for name, template in _ephemeral(pod.spec):
                    make_claim(self._world, pod.namespace, f"{pod.name}-{name}", template, _owner(pod))
            case PodDeleted(pod) if pod.spec.volumes and not is_finished(pod):
                for name, _ in _ephemeral(pod.spec):
                    self._delete(f"{pod.namespace}/{pod.name}-{name}", pod)
            case _:
                pass

    def _delete(self, key: str, pod: Pod) -> None:
        """A claim that has the name by chance is somebody else's."""
        found = self._world.store.of_kind("v1", CLAIM).get(key)
        if found is not None and any(owner.uid == pod.uid for owner in found.metadata.owner_references):
            self._world.delete_object(CLAIM, key)


def make_claim(
    world: World, namespace: str, name: str, template: dict[str, Any], owner: OwnerReference | None = None
) -> None:
    """Makes a claim of a template, unless there is one of the name."""
    if f"{namespace}/{name}" in world.store.of_kind("v1", CLAIM):
        return
    meta = msgspec.convert(template.get("metadata") or {}, ObjectMeta)
    owners = (owner,) if owner is not None else ()
    meta = replace(meta, name=name, namespace=namespace, owner_references=owners)
    data = {"apiVersion": "v1", "kind": CLAIM, "metadata": msgspec.to_builtins(meta)}
    data["spec"] = template.get("spec") or {}
    world.create_object(Object(api_version="v1", kind=CLAIM, metadata=meta, data=data))


def with_claims(spec: PodSpec, claims: Iterable[tuple[str, str]]) -> PodSpec:
    """The spec with volumes by claim (volume name, claim name), in place of volumes of the same name."""
    named = dict(claims)
    kept = (volume for volume in spec.volumes if volume.get("name") not in named)
    added = ({"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in named.items())
    return replace(spec, volumes=(*kept, *added))


def _ephemeral(spec: PodSpec) -> Iterator[tuple[str, dict[str, Any]]]:
    for volume in spec.volumes:
        if isinstance(source := volume.get("ephemeral"), dict):
            yield str(volume.get("name", "")), source.get("volumeClaimTemplate") or {}


def _owner(pod: Pod) -> OwnerReference:
    return OwnerReference(api_version="v1", kind="Pod", name=pod.name, uid=pod.uid, controller=True)
