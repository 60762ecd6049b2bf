"""What plugins want written to a pod before it is bound, merged into one patch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.running.profile import Hook
from mooring.model.objects import Pod
from mooring.model.updates import unchangeable


def merge_patches(hooks: Iterable[Hook], cycle: Cycle, pod: Pod, node_name: str) -> dict[str, Any]:
    """One merge patch out of every plugin's. Two plugins that want different values are a failure."""
    merged: dict[str, Any] = {}
    for name, method, _ in hooks:
        patch = answers.call(name, "pre_bind_patch", method, cycle, pod, node_name)
        if patch is None:
            continue
        if type(patch) is not dict:
            what = f"returned {answers.shown(patch)}, which is not a dict"
            raise answers.failed(name, "pre_bind_patch", what)
        plain = answers.call(name, "pre_bind_patch", _as_json, patch)
        if field := unchangeable(pod, plain):
            what = f"wants to change {field}, which the API server lets nobody change"
            raise answers.failed(name, "pre_bind_patch", what)
        _merge(merged, plain, name, "")
    return merged


def _as_json(patch: dict[Any, Any]) -> dict[str, Any]:
    """The patch as it goes over the wire: what cannot go there is found while its plugin can be named."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(patch))
    return plain


def _merge(into: dict[str, Any], patch: dict[str, Any], plugin: str, path: str) -> None:
    for key, value in patch.items():
        here = f"{path}.{key}" if path else key
        if key not in into:
            into[key] = value
        elif isinstance(into[key], dict) and isinstance(value, dict):
            _merge(into[key], value, plugin, here)
        elif into[key] != value:
            wanted, there = answers.shown(value), answers.shown(into[key])
            what = f"wants {here} to be {wanted}; another plugin has set it to {there}"
            raise answers.failed(plugin, "pre_bind_patch", what)
