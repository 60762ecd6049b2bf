"""What may await, timed step by step: while it waits for somebody else, nobody waits for it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Generator
from typing import Any

Spend = Callable[[float], None]  # seconds


def timed_steps(method: Callable[[], Any], clock: Callable[[], float], spend: Spend) -> Any:
    """What a method returns; each step of it, where it has to be awaited, is told when it is done."""
    start = clock()
    try:
        answer = method()
    finally:
        spend(clock() - start)
    return Steps(answer, clock, spend) if inspect.isawaitable(answer) else answer


class Steps:
    """An awaitable that is as good as the one in it."""

    def __init__(self, awaited: Awaitable[Any], clock: Callable[[], float], spend: Spend) -> None:
        self._awaited, self._clock, self._spend = awaited, clock, spend

    def __await__(self) -> Generator[Any, Any, Any]:
        inner = self._awaited.__await__()
        step: Callable[[], Any] = lambda: next(inner)  # noqa: E731
        while True:
            start = self._clock()
            try:
                waited_for = step()
            except StopIteration as end:
                return end.value
            finally:
                self._spend(self._clock() - start)
            try:
                heard = yield waited_for
            except GeneratorExit:
                _close(inner)
                raise
            except BaseException as error:
                step = _throw(inner, error)
            else:
                step = _send(inner, heard)


def _send(inner: Any, heard: Any) -> Callable[[], Any]:
    return lambda: next(inner) if heard is None else inner.send(heard)


def _throw(inner: Any, error: BaseException) -> Callable[[], Any]:
    def step() -> Any:
        if hasattr(inner, "throw"):
            return inner.throw(error)
        raise error

    return step


def _close(inner: Any) -> None:
    if hasattr(inner, "close"):
        inner.close()
