"""A copy of a cycle that shares nothing which can be changed with the one that is copied.

Plugins that are asked for a story are handed what others wrote to the cycle of then, and that is often the
one of a pod that is being bound. Whatever they do to it, the original stays what it is.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from copy import copy
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any

import msgspec
import numpy as np

from mooring.cluster.books.book import Book
from mooring.errors import Untold
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.handle import Handle
from mooring.framework.api.plugin import Plugin

MOST_COPIED = 200_000  # values; copying them takes a fifth of a second
DEEPEST = 100
OURS = "mooring."  # what is defined there is not changed once it is written, or says how it is cloned
SHARED = (
    str, bytes, int, float, complex, type(None), type, range, frozenset, np.generic,
    FunctionType, BuiltinFunctionType, MethodType, ModuleType, Plugin, Handle, Book,
)  # fmt: skip


def copy_of(cycle: Cycle) -> Cycle:
    """The copy. Untold when it would take too long, or cannot be made."""
    fresh = Cycle(cycle.profile, cycle.now, cycle.attempt)
    fresh.skip_filter, fresh.skip_score = cycle.skip_filter, cycle.skip_score
    copier = Copier()
    for key, value in list((cycle.written or {}).items()):
        try:
            fresh.write(key, copier.copied(value))
        except Untold:
            raise
        except Exception as error:
            raise Untold(f"what was written to its cycle cannot be copied: {type(error).__name__}") from error
    return fresh


class Copier:
    """Copies values, each once: what was one object is one in the copy."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any]] = {}  # by id: the value, which is to stay there, and its copy
        self._depth = 0

    def copied(self, value: Any) -> Any:
        if isinstance(value, SHARED):
            return value
        if (known := self._known.get(id(value))) is not None:
            return known[1]
        if len(self._known) >= MOST_COPIED or self._depth >= DEEPEST:
            raise Untold("too much was written to its cycle to be copied")
        self._depth += 1
        try:
            return self._copy(value)
        finally:
            self._depth -= 1

    def _copy(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return self._keep(value, self._tuple(value))
        if isinstance(value, MappingProxyType):
            return self._keep(value, MappingProxyType(self.copied(dict(value))))
        if type(value).__module__.startswith(OURS):
            return self._keep(value, value.clone() if hasattr(value, "clone") else value)
        fresh = self._keep(value, value.copy() if isinstance(value, np.ndarray) else copy(value))
        if fresh is not value:  # as with what never changes
            self._fill(fresh)
        return fresh

    def _tuple(self, value: tuple[Any, ...]) -> Any:
        parts = [self.copied(each) for each in value]
        if all(part is each for part, each in zip(parts, value, strict=True)):
            return value
        return tuple(parts) if type(value) is tuple else type(value)._make(parts)  # type: ignore[attr-defined]

    def _fill(self, fresh: Any) -> None:
        """Has copies of what is in a copy that is still shallow."""
        if isinstance(fresh, Mapping):
            for key in list(fresh):
                fresh[key] = self.copied(fresh[key])  # type: ignore[index]
        elif isinstance(fresh, (list, deque)):
            for place, part in enumerate(fresh):
                fresh[place] = self.copied(part)
        setter = msgspec.structs.force_setattr if isinstance(fresh, msgspec.Struct) else object.__setattr__
        for name in _attributes(fresh):
            part = getattr(fresh, name)
            if (own := self.copied(part)) is not part:
                setter(fresh, name, own)

    def _keep(self, value: Any, fresh: Any) -> Any:
        self._known[id(value)] = value, fresh
        return fresh


def _attributes(value: Any) -> list[str]:
    slots = [vars(kind).get("__slots__", ()) for kind in type(value).__mro__]
    slots += [getattr(value, "__struct_fields__", ()), tuple(getattr(value, "__dict__", ()))]
    named = [name for each in slots for name in ((each,) if isinstance(each, str) else each)]
    return [name for name in dict.fromkeys(named) if hasattr(value, name) and not name.startswith("__")]
