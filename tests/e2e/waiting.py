"""Waiting for something to come true, with a deadline: how tests against real programs know when to look."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
WITHIN = 30.0
EVERY = 0.1
SELDOM = 1.0


class NeverHappened(AssertionError):
    """The deadline passed; says what was waited for and what was seen last."""


def wait_for(
    what: Callable[[], T | None],
    *,
    within: float = WITHIN,
    every: float = EVERY,
    saying: str = "",
    tail: Callable[[], str] = str,
) -> T:
    """What `what` answers once it is truthy. An assertion it raises counts as "not yet", other errors do not.

    `saying` names what is waited for; `tail` is asked at the deadline for more to show, such as a log.
    """
    deadline = time.monotonic() + within
    while True:
        seen: object
        asked = time.monotonic()
        try:
            answer = what()
            if answer:
                return answer
            seen = answer
        except AssertionError as error:
            seen = error
        if time.monotonic() >= deadline:
            raise NeverHappened(
                f"waited {within:g} s for {saying or describe(what)}; last seen: {seen}\n{tail()}"
            )
        took = time.monotonic() - asked
        time.sleep(max(every, min(3 * took, SELDOM)))  # looking must not keep busy what is looked at


def holds(what: Callable[[], object], *, during: float, every: float = EVERY, saying: str = "") -> None:
    """Asserts that `what` stays true for a while: for what must not happen."""
    deadline = time.monotonic() + during
    while time.monotonic() < deadline:
        seen = what()
        assert seen, f"{saying or describe(what)} did not hold: {seen}"
        time.sleep(every)


def describe(what: Callable[[], object]) -> str:
    return getattr(what, "__name__", repr(what))
