"""Makes books from the nodes and pods that are there."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import TYPE_CHECKING, Any

from mooring.cluster.books.book import Book, Draft
from mooring.cluster.books.hook_calls import HookCalls, took_too_long
from mooring.cluster.pods import PROMISED, RELEASING, Hold, Placed
from mooring.cluster.view import StaticNode

if TYPE_CHECKING:
    from mooring.cluster.cluster import Cluster

AnyBook = Book[Any, Any]


class MakingAnew:
    """Tells books of all that is there, in the order it came."""

    def __init__(self, cluster: Cluster, calls: HookCalls, view: Callable[[int | None], StaticNode]) -> None:
        self._cluster = cluster
        self._calls = calls
        self._view = view

    def made(self, book: AnyBook, before: AnyBook | None, without: Container[str] = ()) -> AnyBook:
        """Another one like the book. It is broken when it cannot take in a node, or what was before it, and
        when it takes too long; a pod that it cannot take in is left out."""
        fresh, nodes = book._blank(), self._cluster.nodes
        before = None if before is None else before._as_it_was()
        pods = sorted(self._cluster.pods.by_uid.values(), key=lambda placed: placed.turn)
        well = before is None or self._calls.call(fresh, "begun", before) is None
        well = well and all(self._takes_node(fresh, row) for row in nodes.rows.values())
        concerned = (placed for placed in pods if book._concerns_pod(placed.pod.metadata.uid))
        known = (placed for placed in concerned if placed.pod.metadata.uid not in without)
        fresh._broken = not (well and all(self._takes_pod(fresh, before, placed) for placed in known))
        return fresh

    def _takes_node(self, fresh: AnyBook, row: int) -> bool:
        return self._calls.call(fresh, "node_added", self._view(row)) is None

    def _takes_pod(self, fresh: AnyBook, before: AnyBook | None, placed: Placed) -> bool:
        """Whether it can go on, with the pod or without."""
        assert isinstance(fresh._shelf, Draft)
        fresh._shelf.begin()
        for hook, *about in self._tellings(placed, before):
            if (error := self._calls.call(fresh, hook, *about)) is not None:
                fresh._shelf.undo()
                fresh._left_out[placed.pod.metadata.uid] = None
                return not took_too_long(error)
        return True

    def _tellings(self, placed: Placed, before: AnyBook | None) -> Iterator[tuple[Any, ...]]:
        pod, row = placed.pod, placed.row
        if placed.hold is not PROMISED and before is None:
            yield "taken", pod, placed.node
        elif placed.hold is not PROMISED:
            yield "recalled", pod, placed.node, before
        for hook in hooks_of_coming(placed.hold) if row is not None else ():
            yield hook, pod, self._view(row)


def hooks_of_coming(hold: Hold) -> tuple[str, ...]:
    """What a book is told of a pod that has come to a node."""
    if hold is PROMISED:
        return ("promised",)
    return ("added", "leaving") if hold is RELEASING else ("added",)
