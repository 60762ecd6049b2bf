"""JSON merge patches on objects."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from mooring.errors import ApiError
from mooring.model.objects import Node, Object, ObjectMeta, Pod
from mooring.model.updates import merged, unchangeable

Patched = TypeVar("Patched", Pod, Node)


def patched(value: Patched, patch: dict[str, Any]) -> Patched:
    """A pod or node with a patch merged in. Parts the patch leaves alone stay the same objects. ApiError
    when it changes what nobody may change, or is no longer what it should be."""
    if field := unchangeable(value, patch):
        raise _invalid(value, f"{field}: Forbidden: updates may not change this field")
    changes = {}
    for part in ("metadata", "spec", "status"):
        if part in patch:
            old = getattr(value, part)
            data = merged(msgspec.to_builtins(old), patch[part])
            try:
                changes[part] = msgspec.convert(data, type(old))
            except msgspec.ValidationError as error:
                raise _invalid(value, f"{part}: Invalid value: {error}") from None
    return replace(value, **changes)


def _invalid(value: Pod | Node, what: str) -> ApiError:
    return ApiError(422, f'{type(value).__name__} "{value.metadata.name}" is invalid: {what}')


def check_version(value: Object, patch: dict[str, Any]) -> None:
    """Refuses a patch made for a version that the object no longer has."""
    wanted = (patch.get("metadata") or {}).get("resourceVersion")
    if wanted not in (None, value.metadata.resource_version):
        raise ApiError(
            409,
            f'Operation cannot be fulfilled on {value.kind.lower()}s "{value.metadata.name}": the object has '
            "been modified; please apply your changes to the latest version and try again",
        )


def patched_object(value: Object, patch: dict[str, Any]) -> Object:
    """Any other object with a patch merged in."""
    data = merged(value.data, patch)
    kept = value.metadata  # what the cluster itself gave: name, uid, creation time
    meta = msgspec.convert(data.get("metadata") or {}, ObjectMeta)
    meta = replace(
        meta,
        name=kept.name,
        namespace=kept.namespace,
        uid=kept.uid,
        creation_timestamp=kept.creation_timestamp,
    )
    return replace(value, metadata=meta, data=data)
