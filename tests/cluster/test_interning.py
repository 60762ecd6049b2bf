"""Small integers for things that repeat."""

from __future__ import annotations

from mooring.cluster.interning import Interner


def test_each_distinct_value_gets_the_next_integer() -> None:
    interner: Interner[str] = Interner()
    assert [interner.id(word) for word in ("red", "green", "red", "blue", "green")] == [0, 1, 0, 2, 1]
    assert interner.values == ["red", "green", "blue"]
    assert len(interner) == 3


def test_first_values_are_numbered_in_order() -> None:
    interner = Interner("cpu", "memory")
    assert (interner.id("memory"), interner.id("cpu"), interner.id("gpu")) == (1, 0, 2)


def test_finding_gives_out_nothing() -> None:
    interner = Interner("cpu")
    assert interner.find("cpu") == 0
    assert interner.find("gpu") is None
    assert len(interner) == 1


def test_equal_values_are_one() -> None:
    interner: Interner[tuple[str, ...]] = Interner(())
    assert interner.id(tuple("ab")) == interner.id(("a", "b")) == 1
