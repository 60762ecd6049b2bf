"""A table that remembers what was put into it lately, and never grows beyond a limit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The newest entries, between half of `limit` and `limit` of them.

    There are two generations, and when the young one is half of what may be kept the old one goes, all at
    once: taking single entries out at the front of a dict is slow.
    """

    def __init__(self, limit: int) -> None:
        self._half = max(1, limit // 2)
        self._young: dict[K, V] = {}
        self._old: dict[K, V] = {}

    def __len__(self) -> int:
        return len(self._young) + len(self._old)

    def get(self, key: K) -> V | None:
        found = self._young.get(key)
        return self._old.get(key) if found is None else found

    def use(self, key: K) -> V | None:
        """As `get`; the entry is then one of the newest."""
        found = self._young.get(key)
        if found is None and self._old and (found := self._old.get(key)) is not None:
            self.put(key, found)
        return found

    def put(self, key: K, value: V) -> None:
        if self._old:
            self._old.pop(key, None)
        self._young[key] = value
        if len(self._young) >= self._half:
            self._young, self._old = {}, self._young

    def pop(self, key: K) -> V | None:
        """Takes an entry out, if there is one."""
        found = self._young.pop(key, None)
        return self._old.pop(key, None) if found is None and self._old else found

    def items(self) -> Iterator[tuple[K, V]]:
        return chain(self._old.items(), self._young.items())
