"""The changes of books. As all changes, each returns its reverse.

A book goes by its name, so that a copy of the cluster undoes them in its own. A name that nobody has any more
has nothing to undo.
"""

from __future__ import annotations

from collections.abc import Hashable
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from weakref import ref

if TYPE_CHECKING:
    from mooring.cluster.books.book import Book
    from mooring.cluster.changes import Change
    from mooring.cluster.cluster import Cluster

ABSENT: Any = object()


def count(cluster: Cluster, name: str, key: Hashable, amount: int | Fraction) -> Change:
    """What others count meanwhile stays counted when this is undone."""
    if (book := cluster.books.by_name.get(name)) is not None:
        entries = book._entries
        if total := entries.get(key, 0) + amount:
            entries[key] = total
        else:
            entries.pop(key, None)
        if book._hears_counts:
            book.counted(key)
    return count, (name, key, -amount)


def put(cluster: Cluster, name: str, key: Hashable, value: Any) -> Change:
    before = ABSENT
    if (book := cluster.books.by_name.get(name)) is not None:
        before = book._entries.pop(key, ABSENT) if value is ABSENT else book._entries.get(key, ABSENT)
        if value is not ABSENT:
            book._entries[key] = value
    return put, (name, key, before)


def touch(cluster: Cluster, name: str, node: str) -> Change:
    row = cluster.nodes.rows.get(node)
    if row is not None:
        cluster.nodes.journal.write(row)
    return touch, (name, node)


def leave_out(cluster: Cluster, name: str, uid: str, left_out: bool) -> Change:
    """A pod that the book does without, or no more."""
    if (book := cluster.books.by_name.get(name)) is not None:
        if left_out:
            book._left_out[uid] = None
        else:
            book._left_out.pop(uid, None)
    return leave_out, (name, uid, not left_out)


def put_all(
    cluster: Cluster, name: str, entries: dict[Any, Any], left_out: dict[str, None], broken: bool
) -> Change:
    """The book was made anew."""
    if (book := cluster.books.by_name.get(name)) is not None:
        book._entries, book._left_out, book._broken = entries, left_out, broken
    return lose_all, (name,)


def lose_all(cluster: Cluster, name: str) -> Change:
    """What the book was before it was made anew, nobody keeps: it cannot be read."""
    if (book := cluster.books.by_name.get(name)) is None:
        return put_all, (name, {}, {}, True)
    there = book._entries, book._left_out, book._broken
    book._entries, book._left_out, book._broken = {}, {}, True
    return put_all, (name, *there)


def shelve(cluster: Cluster, name: str, held: ref[Book[Any, Any]] | None) -> Change:
    """A fork looks back to when another book had the name, or none. It has a copy of that one, which is
    remembered as long as a plugin has it."""
    before = cluster.books.by_name.pop(name, None)
    if held is not None and (book := held()) is not None:
        cluster.books.inherit(book)
    return shelve, (name, None if before is None else ref(before))
