"""The books of a table of hooks that is being built. Nothing of it is told before the table is in force."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from mooring.cluster.books.book import Book
from mooring.errors import BookError

AnyBook = Book[Any, Any]
B = TypeVar("B", bound=AnyBook)


class BooksToCome:
    """Books of plugins that stay, as they are; and those that plugins ask for which come."""

    def __init__(self, known: Mapping[str, AnyBook], staying: Iterable[AnyBook]) -> None:
        self._known = known
        self.by_name = {book.name: book for book in staying}
        self.as_new: dict[str, AnyBook] = {}  # with nothing in them, made with the arguments of who comes

    def of(self, kind: type[B], *arguments: Any) -> B:
        """The book of that name. Unless a plugin that stays has it, it has the arguments of the first who
        asks once it is in force. One of the same class is the same object: pods that are on their way have
        plugins that write to it."""
        book = self.by_name.get(kind.name)
        if book is None:
            self.as_new[kind.name] = fresh = kind(*arguments)
            known = self._known.get(kind.name)
            book = self.by_name[kind.name] = known if type(known) is kind else fresh
        return of_kind(book, kind)


def of_kind(book: AnyBook, kind: type[B]) -> B:
    """The book. BookError when it is another one of the same name."""
    if type(book) is not kind:
        raise BookError(f"two books are named {kind.name}: {_place(type(book))} and {_place(kind)}")
    return book


def _place(kind: type[AnyBook]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
