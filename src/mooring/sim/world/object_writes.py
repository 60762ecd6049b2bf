"""Writes of objects of any kind, as the API server takes them: 404 for what is not there, 409 for what is.

A kind that is not Kubernetes' own is there once its CustomResourceDefinition is, or any object of it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.errors import ApiError
from mooring.framework.api.writes import Write
from mooring.model.objects import Node, Object, ObjectMeta, Pod
from mooring.sim.world.known_kinds import is_foreign_group
from mooring.sim.world.naming import plural_of
from mooring.sim.world.world import World

PATHS = {"v1/pods": "Pod", "v1/nodes": "Node"}
DEFINITION = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
NO_RESOURCE = "the server could not find the requested resource"


def carry_out(world: World, write: Write) -> None:
    """Has it written, or raises ApiError."""
    kind = PATHS.get(write.kind, write.kind)
    if write.verb == "create":
        _create(world, kind, write)
        return
    _check_uid(world, kind, write)
    if write.verb == "patch":
        body = {"status": write.body.get("status")} if write.sub == "status" else _without_uid(write.body)
        world.patch(kind, write.key, body, matters=write.sub != "status")
    elif kind == "Pod":
        world.delete_pod(write.key)
    elif kind == "Node":
        world.delete_node(write.key)
    else:
        world.delete_object(kind, write.key)


def _create(world: World, kind: str, write: Write) -> None:
    namespace, _, name = write.key.rpartition("/")
    metadata = {**(write.body.get("metadata") or {}), "name": name}
    if namespace:
        metadata["namespace"] = namespace
    data = {**write.body, "metadata": metadata}
    if kind == "Pod":
        world.create_pod(msgspec.convert(data, Pod))
    elif kind == "Node":
        world.create_node(msgspec.convert(data, Node))
    else:
        api_version, name = str(data.get("apiVersion", "")), str(data.get("kind", ""))
        if not _is_installed(world, api_version, name):
            raise ApiError(404, NO_RESOURCE)
        meta = msgspec.convert(metadata, ObjectMeta)
        world.create_object(Object(api_version=api_version, kind=name, metadata=meta, data=data))


def _is_installed(world: World, api_version: str, kind: str) -> bool:
    group, objects = api_version.rpartition("/")[0], world.store.objects
    if not kind or not is_foreign_group(api_version) or (group, kind) in objects:
        return bool(kind)
    definition = f"{plural_of(kind)}.{group}"
    return definition in objects.get((DEFINITION[0].rpartition("/")[0], DEFINITION[1]), {})


def _check_uid(world: World, kind: str, write: Write) -> None:
    """Refuses what is meant for an object whose name another one has by now."""
    if not write.uid:
        return
    there = world.store.find(kind, write.key).metadata.uid
    if there != write.uid:
        what = f"Precondition failed: UID in precondition: {write.uid}, UID in object meta: {there}"
        raise ApiError(409, what)


def _without_uid(body: dict[str, Any]) -> dict[str, Any]:
    if "uid" not in (body.get("metadata") or {}):
        return body
    rest = {name: value for name, value in body["metadata"].items() if name != "uid"}
    return {**body, "metadata": rest}
