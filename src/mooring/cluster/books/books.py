"""The books of a cluster, by name: statements tell them what they change.

A book that raises costs what it was told of, and nothing else. A pod that it cannot take in is left out of it
until that pod is told again. After any other failure it is broken: it is neither told nor read until it has
been made anew from the pods that are there.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Container, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from mooring.cluster.books.book import Book, Draft, leave_out, put_all, shelve, touch
from mooring.cluster.pods import PROMISED, RELEASING, Hold, Placed
from mooring.cluster.view import StaticNode
from mooring.errors import BookError, InvariantError, wants_the_end
from mooring.model.objects import Pod

if TYPE_CHECKING:
    from mooring.cluster.changes import Change
    from mooring.cluster.cluster import Cluster
    from mooring.cluster.statement import Statement

log = logging.getLogger("mooring.cluster")

MOST_LOGGED = 1000  # places at which books failed
ANYWHERE = {"taken", "given_back"}  # told whether the node is known or not
TAKING_IN = ("taken", "added", "promised")

AnyBook = Book[Any, Any]
B = TypeVar("B", bound=AnyBook)
Marks = dict[str, dict[str, None]]  # nodes that were touched, by the name of who did


class Books:
    """Tells books of changes, and makes theirs."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.by_name: dict[str, AnyBook] = {}
        self.told: tuple[AnyBook, ...] = ()  # all of them
        self.drafted: dict[str, AnyBook] | None = None  # books of plugins that are being made, until placed
        self.taking = False  # whether any of them is told of pods that come and go
        self.following = False  # whether any of them is told when a pod or a node is another one
        self.open: list[Statement] = []  # statements that are neither final nor undone, the newest last
        self.marks: Marks = {}  # of what is final, until somebody takes them
        self.unattended = False  # whether there are marks, or a book is broken
        self._inherited: set[str] = set()  # books of the cluster that this one is a fork of
        self._tellings = 0
        self._mended_at: dict[str, int] = {}  # tellings when a book was made anew
        self._static: list[StaticNode] = []
        self._logged: set[tuple[str, str, str]] = set()

    def of(self, kind: type[B], *arguments: Any) -> B:
        """The book of that name. For the first who asks it is made with the arguments, from the pods that are
        there."""
        book = self.by_name.get(kind.name)
        if self.drafted is not None and type(book) is not kind:
            book = self.drafted.get(kind.name) or self.drafted.setdefault(kind.name, kind(*arguments))
        elif book is None:
            book = self._placed(kind(*arguments))
        elif kind.name in self._inherited:
            book = self._replaced(book, kind(*arguments))
        if type(book) is not kind:
            raise two_of_one_name(type(book), kind)
        return book

    def place(self, book: AnyBook) -> None:
        """Tells a book that was drafted from now on, and no longer the one that had its name. Who looks back
        finds that one."""
        before = self.by_name.get(book.name)
        self._placed(book)
        if before is not None:
            before._shelf = Draft(before)  # what is still written there is for nobody else to read
            self._cluster.history.extend([(shelve, (book.name, before))])

    def _placed(self, book: AnyBook) -> AnyBook:
        fresh = self._anew(book)
        book._entries, book._left_out, book._shelf = fresh._entries, fresh._left_out, self
        self.by_name[book.name] = book
        self._sort()
        return book

    def _replaced(self, known: AnyBook, book: AnyBook) -> AnyBook:
        """A book of the cluster this one is a fork of is made with arguments of its own."""
        self._inherited.discard(book.name)
        for name in ("_entries", "_left_out", "_broken", "_shelf"):
            setattr(book, name, getattr(known, name))
        self.by_name[book.name] = book
        self._sort()
        return book

    def _sort(self) -> None:
        self.told = tuple(self.by_name.values())
        hooks = frozenset().union(*(each._hooks for each in self.told))
        self.taking, self.following = bool(hooks), bool(hooks - ANYWHERE)

    def fork(self, cluster: Cluster) -> Books:
        """The same books for a fork of the cluster; each is made again, with what is in it, for who asks."""
        fork = Books(cluster)
        for name, book in self.by_name.items():
            own = book._blank()
            own._entries, own._left_out = book._entries.copy(), book._left_out.copy()
            own._broken, own._shelf = book._broken, fork
            fork.by_name[name] = own
            fork._inherited.add(name)
        fork._sort()
        fork.unattended = any(book._broken for book in fork.told)
        return fork

    # what books write

    def make(self, change: Callable[..., Change], *arguments: Any) -> None:
        """Makes a change of a book: in the statement that is open, or for good when none is."""
        reverse = change(self._cluster, *arguments)
        if self.open:
            self.open[-1].also(reverse)
        else:
            self._cluster.history.extend([reverse])
            self._mark([reverse])

    def closed(self, statement: Statement, final: list[Change]) -> None:
        """A statement has come to its end, with these changes."""
        if statement in self.open:
            self.open.remove(statement)
            self._mark(final)

    def _mark(self, final: Iterable[Change]) -> None:
        for change, arguments in final:
            if change is touch:
                self.mark(*arguments)

    def mark(self, name: str, node: str) -> None:
        """A node was touched, by a book or a plugin."""
        self.marks.setdefault(name, {})[node] = None
        self.unattended = True

    # what they are told

    def came(self, statement: Statement, placed: Placed, *, found: bool = False) -> None:
        """A pod has come to its place. Found: it had one on a node that nobody knew."""
        for book in self.told:
            self._tell_coming(statement, book, placed, anew=found)

    def goes(self, statement: Statement, placed: Placed, *, stranded: bool = False) -> None:
        """A pod leaves its place. Stranded: its node does."""
        for book in self.told:
            self._tell_going(statement, book, placed, placed.pod)
            if placed.pod.metadata.uid in book._left_out:
                if not stranded:
                    self._leave_out(statement, book, placed, False)
            elif not stranded and placed.hold is not PROMISED:
                self._tell(statement, book, "given_back", placed.pod, placed.node)

    def holds(self, statement: Statement, placed: Placed) -> None:
        """A pod is on its way out now, or is so no more."""
        hook, uid = "leaving" if placed.hold is RELEASING else "staying", placed.pod.metadata.uid
        for book in self.told if placed.row is not None else ():
            if uid not in book._left_out:
                self._tell(statement, book, hook, placed.pod, self._view(placed.row))

    def changed(self, statement: Statement, old: Pod, placed: Placed) -> None:
        """A pod that holds its place has another object."""
        for book in self.told:
            self._tell_going(statement, book, placed, old)
            self._tell_coming(statement, book, placed, anew=True)

    def node_goes(self, statement: Statement, row: int) -> None:
        """A node goes, or is about to change."""
        for placed in self._cluster.pods.on(row).values():
            for book in self.told:
                self._tell_going(statement, book, placed, placed.pod)
        for book in self.told:
            self._tell(statement, book, "node_removed", self._view(row))

    def node_came(self, statement: Statement, row: int) -> None:
        """A node has come, or has changed."""
        for book in self.told:
            self._tell(statement, book, "node_added", self._view(row))
        for placed in self._cluster.pods.on(row).values():
            for book in self.told:
                self._tell_coming(statement, book, placed, anew=True)

    def _tell_going(self, statement: Statement, book: AnyBook, placed: Placed, pod: Pod) -> None:
        if placed.row is not None and pod.metadata.uid not in book._left_out:
            for hook in _going(placed.hold):
                self._tell(statement, book, hook, pod, self._view(placed.row))

    def _tell_coming(self, statement: Statement, book: AnyBook, placed: Placed, *, anew: bool) -> None:
        """Tells one book of a pod, as far as it has not been told: of one that it left out, all."""
        pod, row, mark = placed.pod, placed.row, statement.checkpoint()
        takes = placed.hold is not PROMISED
        known = anew and pod.metadata.uid not in book._left_out
        if pod.metadata.uid in book._left_out:
            self._leave_out(statement, book, placed, False)
        well = known or not takes or self._tell(statement, book, "taken", pod, placed.node)
        for hook in _coming(placed.hold) if row is not None else ():
            well = well and self._tell(statement, book, hook, pod, self._view(row))
        if not well:
            statement.undo_since(mark)
            if known and takes:
                self._tell(statement, book, "given_back", pod, placed.node)
            self._leave_out(statement, book, placed, True)

    def _leave_out(self, statement: Statement, book: AnyBook, placed: Placed, left_out: bool) -> None:
        statement.also(leave_out(self._cluster, book.name, placed.pod.metadata.uid, left_out))

    def _tell(self, statement: Statement, book: AnyBook, hook: str, *about: Any) -> bool:
        """Tells one book. What it wrote before it failed is undone. False: it cannot take in a pod."""
        if hook not in book._hooks or book._broken:
            return True
        self.open_for(statement)
        self._tellings += 1
        mark = statement.checkpoint()
        try:
            getattr(book, hook)(*about)
        except BaseException as error:
            self._failed(book, hook, error)
            statement.undo_since(mark)
            if hook in TAKING_IN:
                return False
            book._broken = self.unattended = True
        return True

    def open_for(self, statement: Statement) -> None:
        """What is written from now on belongs to this statement."""
        if not self.open or self.open[-1] is not statement:
            if statement in self.open:
                self.open.remove(statement)
            self.open.append(statement)

    # books made anew

    def mend(self) -> None:
        """Makes broken books anew. One that fails again and again is made anew only after as many tellings
        and looks at it as there are pods: so it costs no more than being told."""
        self._tellings += 1
        pods = len(self._cluster.pods)
        for book in self.told:
            last = self._mended_at.get(book.name)
            if book._broken and (last is None or self._tellings - last >= pods):
                self._mended_at[book.name] = self._tellings
                fresh = self._anew(book)
                book._broken = False
                self.make(put_all, book.name, fresh._entries, fresh._left_out)

    def attend(self) -> Marks:
        """Mends what is broken. Returns the nodes that were touched since the last time."""
        self.mend()
        marks, self.marks = self.marks, {}
        self.unattended = any(book._broken for book in self.told)
        return marks

    def check(self) -> None:
        """Raises InvariantError for a book that is another one when it is made anew from the pods that are
        there."""
        for book in self.told:
            if not book._broken:
                _compare(book.name, book._entries, self._anew(book, without=book._left_out)._entries)

    def _anew(self, book: AnyBook, without: Container[str] = ()) -> AnyBook:
        """The book as it is when it is told of nodes and pods in the order they came."""
        fresh, cluster = book._blank(), self._cluster
        self._try(fresh, "begun", book)
        for row in cluster.nodes.rows.values():
            self._try(fresh, "node_added", self._view(row))
        for placed in sorted(cluster.pods.by_uid.values(), key=lambda placed: placed.turn):
            if placed.pod.metadata.uid not in without:
                self._recall(fresh, book, placed)
        return fresh

    def _recall(self, fresh: AnyBook, book: AnyBook, placed: Placed) -> None:
        pod, row = placed.pod, placed.row
        assert isinstance(fresh._shelf, Draft)
        fresh._shelf.begin()
        well = placed.hold is PROMISED or self._try(fresh, "recalled", pod, placed.node, book)
        for hook in _coming(placed.hold) if row is not None else ():
            well = well and self._try(fresh, hook, pod, self._view(row))
        if not well:
            fresh._shelf.undo()
            fresh._left_out[pod.metadata.uid] = None

    def _try(self, fresh: AnyBook, hook: str, *about: Any) -> bool:
        try:
            getattr(fresh, hook)(*about)
        except BaseException as error:
            self._failed(fresh, hook, error)
            return False
        return True

    def _view(self, row: int | None) -> StaticNode:
        assert row is not None
        while len(self._static) <= row:
            self._static.append(StaticNode(self._cluster.nodes, self._cluster.pods, len(self._static)))
        return self._static[row]

    def _failed(self, book: AnyBook, hook: str, error: BaseException) -> None:
        """Logs it, once for each place."""
        if wants_the_end(error):
            raise error
        frames = traceback.extract_tb(error.__traceback__)
        place = book.name, hook, f"{frames[-1].filename}:{frames[-1].lineno}"
        if place not in self._logged and len(self._logged) < MOST_LOGGED:
            self._logged.add(place)
            log.error("book %s failed at %s", book.name, hook, exc_info=error)


def _coming(hold: Hold) -> tuple[str, ...]:
    if hold is PROMISED:
        return ("promised",)
    return ("added", "leaving") if hold is RELEASING else ("added",)


def _going(hold: Hold) -> tuple[str, ...]:
    if hold is PROMISED:
        return ("unpromised",)
    return ("staying", "removed") if hold is RELEASING else ("removed",)


def _compare(what: str, kept: dict[Any, Any], found: dict[Any, Any]) -> None:
    if kept != found:
        missing = object()
        key = next(key for key in (*kept, *found) if kept.get(key, missing) != found.get(key, missing))
        shown = f"{kept.get(key)!r} is kept and {found.get(key)!r} found"
        raise InvariantError(f"book {what}: of {key!r}, {shown}")


def two_of_one_name(one: type[AnyBook], other: type[AnyBook]) -> BookError:
    return BookError(f"two books are named {one.name}: {_place(one)} and {_place(other)}")


def _place(kind: type[AnyBook]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
