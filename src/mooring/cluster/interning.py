"""Small integers for things that repeat: label values, taint sets, what plugins sign."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T", bound=Hashable)


class Shared(Generic[T]):
    """Gives each distinct value an integer as long as somebody has it; then another value may get it."""

    __slots__ = ("_free", "_ids", "holders", "values")

    def __init__(self) -> None:
        self._ids: dict[T, int] = {}
        self._free: list[int] = []
        self.values: list[T | None] = []  # None where nobody has the integer
        self.holders: list[int] = []

    def take(self, value: T) -> int:
        """The integer of a value, for one more holder."""
        number = self._ids.get(value)
        if number is None:
            number = self._free.pop() if self._free else len(self.values)
            if number == len(self.values):
                self.values.append(value)
                self.holders.append(0)
            self._ids[value], self.values[number] = number, value
        self.holders[number] += 1
        return number

    def number(self, value: T) -> int | None:
        """The integer of a value that somebody has."""
        return self._ids.get(value)

    def give_back(self, number: int) -> None:
        """One holder less."""
        self.holders[number] -= 1
        if not self.holders[number]:
            value = self.values[number]
            assert value is not None
            del self._ids[value]
            self.values[number] = None
            self._free.append(number)

    def fork(self) -> Shared[T]:
        fork: Shared[T] = Shared()
        fork._ids, fork._free = self._ids.copy(), self._free.copy()
        fork.values, fork.holders = self.values.copy(), self.holders.copy()
        return fork

    def __len__(self) -> int:
        return len(self._ids)
