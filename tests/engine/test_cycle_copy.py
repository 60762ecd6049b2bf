"""A copy of a cycle shares nothing that can be changed."""

from __future__ import annotations

from collections import Counter, deque
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest

from engine.stage import made, pod
from mooring.engine import cycle_copy
from mooring.engine.cycle_copy import copy_of
from mooring.errors import Untold
from mooring.framework.api.cycle import Cycle


class Slotted:
    __slots__ = ("inner",)

    def __init__(self, inner: Any) -> None:
        self.inner = inner


class Frozen(msgspec.Struct, frozen=True):
    inner: Any


class Pair(NamedTuple):
    inner: Any


class Colour(Enum):
    RED = "red"


HOLDERS = {
    "a dict": lambda inner: {"inner": inner},
    "a list": lambda inner: [inner],
    "a deque": lambda inner: deque([inner]),
    "a tuple": lambda inner: (1, inner),
    "a named tuple": Pair,
    "a read-only mapping": lambda inner: MappingProxyType({"inner": inner}),
    "slots": Slotted,
    "a frozen struct": Frozen,
}


def copied(value: Any) -> Any:
    cycle = Cycle("p", 0.0)
    cycle.write("key", value)
    return copy_of(cycle).read("key")


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
@pytest.mark.parametrize("inner", [{1: 2}, [1], {1}, Counter("ab"), bytearray(b"a")], ids=str)
def test_what_can_be_changed_is_another_one(holder: Any, inner: Any) -> None:
    fresh = copied([holder(inner), inner])
    assert fresh[1] == inner
    assert fresh[1] is not inner
    found = fresh[0]
    if not isinstance(found, (list, dict, deque, MappingProxyType)) and type(found) is not tuple:
        assert found.inner is fresh[1]  # one object is one in the copy
        return
    values = found.values() if hasattr(found, "values") else found
    assert any(each is fresh[1] for each in values)


def test_what_never_changes_is_shared() -> None:
    plugin = made("Any")(None, None)  # type: ignore[arg-type]
    for value in (pod("p"), "text", Colour.RED, (1, "a"), frozenset({1}), plugin, len):
        assert copied(value) is value


def test_arrays_are_copied() -> None:
    array = np.arange(3)
    copied(array)[0] = 9
    assert array.tolist() == [0, 1, 2]


def test_what_goes_round_in_a_circle_does_so_in_the_copy() -> None:
    circle: list[Any] = []
    circle.append(circle)
    fresh = copied(circle)
    assert fresh is not circle
    assert fresh[0] is fresh


def test_too_much_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    deep: list[Any] = []
    for _ in range(1000):
        deep = [deep]
    with pytest.raises(Untold, match="too much"):
        copied(deep)
    monkeypatch.setattr(cycle_copy, "MOST_COPIED", 10)
    with pytest.raises(Untold, match="too much"):
        copied([[number] for number in range(20)])
