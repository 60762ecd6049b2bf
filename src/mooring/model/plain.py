"""Plain data of objects, read without trusting its shape: what is missing or odd counts as not there."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from mooring.model.quantity import Quantity, whole

T = TypeVar("T")


def part(data: Any, *path: str) -> dict[str, Any]:
    """The mapping at a path; empty when there is none."""
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def text(data: dict[str, Any], name: str) -> str:
    """A string; "" when there is none."""
    value = data.get(name)
    return value if isinstance(value, str) else ""


def items(data: dict[str, Any], name: str) -> list[Any]:
    """The elements of a list; none when there is no list."""
    value = data.get(name)
    return list(value) if isinstance(value, list | tuple) else []


def words(data: dict[str, Any], name: str) -> frozenset[str]:
    """The strings of a list."""
    return frozenset(each for each in items(data, name) if isinstance(each, str))


def read(data: Any, kind: type[T]) -> T:
    """Data as a type; null counts as nothing, as it does for the API server. msgspec.ValidationError when it
    is something else."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError:  # most data has no nulls: who has is looked through
        return msgspec.convert(_without_nulls(data), kind)


def _without_nulls(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _without_nulls(value) for key, value in data.items() if value is not None}
    return [_without_nulls(each) for each in data] if isinstance(data, list | tuple) else data


def amount(data: dict[str, Any], name: str) -> int | None:
    """A quantity in its base unit, rounded up; None when there is none."""
    value: Quantity | None = data.get(name)
    return None if value is None else whole(value)
