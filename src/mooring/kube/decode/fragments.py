"""Parts of objects read once: equal parts, however they are spelled, become one value in memory.

The pods of a workload repeat the same labels, tolerations and containers thousands of times. A part is
looked up by the bytes it came in; only bytes never seen before are read. What they say is then looked
up by its meaning, so that the order of keys, or a null instead of nothing, makes no difference. Lists come
in the order of names, so a part is mostly that of the object before: comparing is quicker than looking up.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

import msgspec

MOST = 2048  # parts of one sort; above it all are forgotten and learnt anew

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

canonical = msgspec.json.Encoder(order="deterministic").encode


class Remembered(Generic[K, V]):
    """A table for what repeats, which starts over when it is full."""

    __slots__ = ("_met", "_most", "known")

    def __init__(self, most: int | None = None) -> None:
        self._most = MOST if most is None else most
        self._met: set[int] = set()  # hashes of keys that were met once
        self.known: dict[K, V] = {}

    def keep(self, key: K, value: V) -> V:
        """Knows this value for the key from now on."""
        if len(self.known) >= self._most:
            self.known.clear()
        self.known[key] = value
        return value

    def first(self, key: K, value: V) -> V:
        """The value that is known for the key, else this one from now on."""
        known = self.known.get(key)
        return self.keep(key, value) if known is None else known

    def repeats(self, key: K) -> bool:
        """Whether the key was met before. What comes once, and never again, is not worth a place."""
        hashed = hash(key)
        if hashed in self._met:
            self._met.discard(hashed)
            return True
        if len(self._met) >= self._most:
            self._met.clear()
        self._met.add(hashed)
        return False


class Fragments(Generic[T]):
    """Values of one type by the JSON they were read from. Nothing, and null, are `empty`."""

    def __init__(self, type_: Any, empty: T, read: Callable[[Any], T] | None = None) -> None:
        self._decode = msgspec.json.Decoder(type_ | None).decode
        self._read = read  # shapes what was decoded
        self._empty = empty
        self._by_bytes: Remembered[bytes, T] = Remembered()
        self._by_meaning: Remembered[bytes, T] = Remembered()
        self._before: tuple[msgspec.Raw | bytes, T] = b"", empty  # the last that was known

    def of(self, raw: msgspec.Raw | bytes) -> T:
        before, value = self._before
        if raw == before:
            return value
        key = bytes(raw)
        if not key:
            return self._empty
        known = self._by_bytes.known.get(key)
        if known is None:
            return self._learn(key)
        self._before = raw, known
        return known

    def _learn(self, key: bytes) -> T:
        found: Any = self._decode(key)
        if found is None:
            return self._empty
        value = self._read(found) if self._read else found
        if value == self._empty:
            return self._empty
        if self._by_bytes.repeats(key):
            value = self._by_bytes.keep(key, self._by_meaning.first(canonical(value), value))
        return value


class Words:
    """Equal strings made one: names of namespaces, nodes and workloads stand in thousands of objects."""

    __slots__ = ("_words",)

    def __init__(self) -> None:
        self._words: Remembered[str, str] = Remembered(4 * MOST)

    def of(self, word: str) -> str:
        known = self._words.known.get(word)
        return self._words.keep(word, word) if known is None else known

    def mapping(self, words: dict[str, str]) -> dict[str, str]:
        of = self.of
        return {of(key): of(value) for key, value in words.items()}
