"""Dotted paths into plain data: `spec.tasks[*].template`, `spec.pytorchReplicaSpecs{*}`.

What is missing or of another shape is not there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

EACH_ITEM, EACH_ENTRY = "[*]", "{*}"


def at(data: Any, path: str) -> Any:
    """The value at a path without wildcards; None when there is none."""
    for step in path.split(".") if path else ():
        data = data.get(step) if isinstance(data, dict) else None
    return data


def places(data: Any, path: str) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every value a path leads to, with the steps to it."""
    yield from _places(data, path.split(".") if path else [], ())


def _places(data: Any, steps: list[str], way: tuple[str | int, ...]) -> Iterator[tuple[Any, Any]]:
    if not steps:
        if data is not None:
            yield way, data
        return
    step, rest = steps[0], steps[1:]
    key = step.removesuffix(EACH_ITEM).removesuffix(EACH_ENTRY)
    value = data.get(key) if isinstance(data, dict) else None
    if step.endswith(EACH_ITEM):
        for number, each in enumerate(value if isinstance(value, list) else ()):
            yield from _places(each, rest, (*way, key, number))
    elif step.endswith(EACH_ENTRY):
        for name, each in value.items() if isinstance(value, dict) else ():
            yield from _places(each, rest, (*way, key, name))
    else:
        yield from _places(value, rest, (*way, key))


def number(data: Any, *paths: str) -> int | None:
    """The first whole number at one of the paths that is not negative."""
    for path in paths:
        value = at(data, path) if path else None
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None


def mapping(data: Any, path: str) -> dict[str, Any]:
    value = at(data, path)
    return value if isinstance(value, dict) else {}


def mappings(data: Any, path: str) -> list[dict[str, Any]]:
    value = at(data, path)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def word(data: Any, path: str) -> str:
    value = at(data, path)
    return value if isinstance(value, str) else ""
