"""Merge patches, and what the API server lets nobody change by one."""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.model.objects import Node, Pod

IDENTITY = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp")
FREE = ("activeDeadlineSeconds", "terminationGracePeriodSeconds")  # of a pod's spec
IMAGES = ("containers", "initContainers")  # of which only images may change


def merged(data: Any, patch: Any) -> Any:
    """RFC 7386: mappings merge, null removes, anything else replaces."""
    if not isinstance(patch, dict):
        return patch
    result = dict(data) if isinstance(data, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def unchangeable(value: Pod | Node, patch: dict[str, Any]) -> str:
    """The first field that a patch changes and must not: what says which object it is, and nearly all of
    a pod's spec. "" when there is none."""
    for part, fields in (("metadata", IDENTITY), ("spec", None)):
        wanted = patch.get(part, {})
        if not isinstance(wanted, dict):
            return part
        there = msgspec.to_builtins(getattr(value, part))
        if fields is None and isinstance(value, Node):
            continue
        for name in wanted if fields is None else fields:
            if name in wanted and not _may_become(name, there.get(name), merged(there, wanted).get(name)):
                return f"{part}.{name}"
    return ""


def _may_become(name: str, before: Any, after: Any) -> bool:
    if (before or None) == (after or None) or name in FREE:
        return True
    if not isinstance(before or [], list | tuple) or not isinstance(after or [], list | tuple):
        return False
    before, after = list(before or ()), list(after or ())
    if name == "tolerations":
        return all(each in after for each in before)
    if name == "schedulingGates":
        return all(each in before for each in after)
    return name in IMAGES and list(map(_without_image, before)) == list(map(_without_image, after))


def _without_image(container: Any) -> Any:
    return {**container, "image": ""} if isinstance(container, dict) else container
