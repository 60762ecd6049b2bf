"""Small integers for things that repeat: label values, taint sets, resource names."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Interner(Generic[T]):
    """Gives each distinct value the next integer, for good."""

    __slots__ = ("_ids", "values")

    def __init__(self, *first: T) -> None:
        self._ids: dict[T, int] = {}
        self.values: list[T] = []
        for value in first:
            self.id(value)

    def id(self, value: T) -> int:
        """The integer of a value, given out now if it has none yet."""
        known = self._ids.get(value)
        if known is None:
            known = self._ids[value] = len(self.values)
            self.values.append(value)
        return known

    def find(self, value: T) -> int | None:
        """The integer of a value, or None if it was never seen."""
        return self._ids.get(value)

    def __len__(self) -> int:
        return len(self.values)
