"""What plugins want written to a pod before it is bound, merged into one patch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mooring.framework import answers
from mooring.framework.cycle import Cycle
from mooring.framework.profile import Hook
from mooring.model.objects import Pod


def merge_patches(hooks: Iterable[Hook], cycle: Cycle, pod: Pod, node_name: str) -> dict[str, Any]:
    """One merge patch out of every plugin's. Two plugins that want different values are a failure."""
    merged: dict[str, Any] = {}
    for name, method, _ in hooks:
        patch = answers.call(name, "pre_bind_patch", method, cycle, pod, node_name)
        if patch is None:
            continue
        if not isinstance(patch, dict):
            raise answers.failed(name, "pre_bind_patch", f"returned {patch!r}, which is not a dict")
        _merge(merged, patch, name, "")
    return merged


def _merge(into: dict[str, Any], patch: dict[str, Any], plugin: str, path: str) -> None:
    for key, value in patch.items():
        here = f"{path}.{key}" if path else key
        if key not in into:
            into[key] = _copied(value)
        elif isinstance(into[key], dict) and isinstance(value, dict):
            _merge(into[key], value, plugin, here)
        elif into[key] != value:
            what = f"wants {here} to be {value!r}; another plugin has set it to {into[key]!r}"
            raise answers.failed(plugin, "pre_bind_patch", what)


def _copied(value: Any) -> Any:
    return {key: _copied(inner) for key, inner in value.items()} if isinstance(value, dict) else value
