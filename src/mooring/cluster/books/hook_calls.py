"""Calls the hooks of books, each in the time that it has. What fails is logged, once for each place."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from mooring.cluster.books.book import Book
from mooring.errors import OverBudget, PointTimedOut, wants_the_end

log = logging.getLogger("mooring.cluster")

MOST_LOGGED = 1000  # places at which books failed

Method = Callable[..., None]
Timing = Callable[[str, Method], Method]  # (hook, method) -> the method, timed; refused when it has no time


class HookCalls:
    """Tells one book one thing."""

    def __init__(self) -> None:
        self.timing: Mapping[str, Timing] = {}  # by the names of books; others are not timed
        self.telling = False  # whether a book is being told something
        self._logged: set[tuple[str, str, str]] = set()

    def call(self, book: Book[Any, Any], hook: str, *about: Any) -> BaseException | None:
        """Why it failed; None when all went well."""
        method = getattr(book, hook)
        if (timed := self.timing.get(book.name)) is not None:
            method = timed(hook, method)
        before, self.telling = self.telling, True
        try:
            method(*about)
        except BaseException as error:
            self._log(book, hook, error)
            return error
        finally:
            self.telling = before
        return None

    def _log(self, book: Book[Any, Any], hook: str, error: BaseException) -> None:
        if wants_the_end(error):
            raise error
        frames = traceback.extract_tb(error.__traceback__)
        place = book.name, hook, f"{frames[-1].filename}:{frames[-1].lineno}"
        if place not in self._logged and len(self._logged) < MOST_LOGGED:
            self._logged.add(place)
            log.error("book %s failed at %s", book.name, hook, exc_info=error)


def took_too_long(error: BaseException | None) -> bool:
    """Whether there is no time for the book, whatever it is told."""
    return isinstance(error, (OverBudget, PointTimedOut))
