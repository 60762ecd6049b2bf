"""What plugins share during one attempt."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mooring.framework.api.cycle import Cycle
from mooring.model.objects import Pod


class Counts:
    """A state that wants to be cloned."""

    def __init__(self, *numbers: int) -> None:
        self.numbers = list(numbers)

    def clone(self) -> Counts:
        return Counts(*self.numbers)


def test_what_is_written_is_read() -> None:
    cycle = Cycle("mine", 3.0)
    cycle.write("zones", {"a": 1})
    cycle.write("zones", {"b": 2})
    assert cycle.read("zones") == {"b": 2}
    assert (cycle.profile, cycle.now) == ("mine", 3.0)


def test_what_was_never_written_is_a_key_error_or_the_default() -> None:
    cycle = Cycle("mine", 0.0)
    with pytest.raises(KeyError, match="zones"):
        cycle.read("zones")
    cycle.write("other", 1)
    with pytest.raises(KeyError, match="zones"):
        cycle.read("zones")
    assert cycle.read("zones", None) is None
    assert cycle.read("zones", 5) == 5


def test_none_can_be_written() -> None:
    cycle = Cycle("mine", 0.0)
    cycle.write("zones", None)
    assert cycle.read("zones", 5) is None


def test_a_clone_does_not_touch_the_original() -> None:
    cycle = Cycle("mine", 3.0)
    cycle.skip_filter, cycle.skip_score = frozenset({"A"}), frozenset({"B"})
    cycle.write("counts", Counts(1))
    cycle.write("shared", [1])
    clone = cycle.clone()
    assert (clone.profile, clone.now) == ("mine", 3.0)
    assert (clone.skip_filter, clone.skip_score) == (frozenset({"A"}), frozenset({"B"}))
    clone.read("counts").numbers.append(2)
    clone.write("new", 1)
    assert cycle.read("counts").numbers == [1]
    assert clone.read("shared") is cycle.read("shared")
    assert cycle.read("new", None) is None


def test_a_clone_of_an_empty_cycle_is_empty_and_its_own() -> None:
    cycle = Cycle("mine", 0.0)
    clone = cycle.clone()
    clone.write("x", 1)
    assert cycle.read("x", None) is None


def test_pods_to_activate_are_kept_and_not_cloned(pod: Callable[..., Pod]) -> None:
    cycle = Cycle("mine", 0.0)
    cycle.activate(pod("a"))
    cycle.activate(pod("b"))
    assert [each.name for each in cycle.pods_to_activate] == ["a", "b"]
    assert cycle.clone().pods_to_activate == ()
