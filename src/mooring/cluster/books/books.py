"""The books of a cluster, by name: statements tell them what they change.

A book that raises costs what it was told of, and nothing else. A pod that it cannot take in is left out of it
until that pod is told again. After any other failure, or when it has taken too long, it is broken: it is
neither told nor read until it has been made anew from the pods that are there.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import ref

from mooring.cluster.books.book import Book, Draft
from mooring.cluster.books.books_to_come import BooksToCome, of_kind
from mooring.cluster.books.changes import leave_out, put_all, shelve, touch
from mooring.cluster.books.hook_calls import HookCalls, Timing, took_too_long
from mooring.cluster.books.making_anew import MakingAnew, hooks_of_coming
from mooring.cluster.pods import PROMISED, RELEASING, Hold, Placed
from mooring.cluster.view import StaticNode
from mooring.errors import BookError, InvariantError
from mooring.model.objects import Pod

if TYPE_CHECKING:
    from mooring.cluster.changes import Change
    from mooring.cluster.cluster import Cluster
    from mooring.cluster.statement import Statement

TAKING_IN = ("taken", "added", "promised")

NOBODY: frozenset[str] = frozenset()
AnyBook = Book[Any, Any]
B = TypeVar("B", bound=AnyBook)
Marks = dict[str, dict[str, None]]  # nodes that were touched, by the name of who did


class Anybody:
    """Has the uid of every pod that some of several books are told of; with None among them, of every pod."""

    def __init__(self, concerns: Iterable[Container[str] | None]) -> None:
        self._concerns = tuple(concerns)

    def __contains__(self, uid: object) -> bool:
        return any(each is None or uid in each for each in self._concerns)


class Books:
    """Tells books of changes, and makes theirs."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.by_name: dict[str, AnyBook] = {}
        self.told: tuple[AnyBook, ...] = ()  # all of them
        self._hearing: tuple[AnyBook, ...] = ()  # those that are told of anything
        self.to_come: BooksToCome | None = None  # while plugins are made that may ask for books
        self.taking: Container[str] = NOBODY  # uids of pods that any of them is told of when they come or go
        self.following = False  # whether any of them is told when a pod or a node is another one
        self.open: list[Statement] = []  # statements that are neither final nor undone, the newest last
        self.marks: Marks = {}  # of what is final, until somebody takes them
        self.sealed = ""  # why nobody may write now
        self.unattended = False  # whether there are marks, or a book is broken
        self._tellings = 0
        self._mended_at: dict[str, int] = {}  # tellings when a book was made anew
        self._static: list[StaticNode] = []
        self._calls = HookCalls()
        self._anew = MakingAnew(cluster, self._calls, self._view)

    def of(self, kind: type[B], *arguments: Any) -> B:
        """The book of that name. For the first who asks it is made with the arguments, from the pods that are
        there; while a table of hooks is built, once that is in force."""
        if self.to_come is not None:
            return self.to_come.of(kind, *arguments)
        if kind.name not in self.by_name:
            self.place(kind(*arguments))
        return of_kind(self.by_name[kind.name], kind)

    def put_in_force(self, books: BooksToCome, timing: Mapping[str, Timing]) -> None:
        """Tells these books from now on, and no others."""
        self._calls.timing = timing
        for name in [name for name in self.by_name if name not in books.by_name]:
            self._take_off(name)
        for name, fresh in books.as_new.items():
            if self.by_name.get(name) is books.by_name[name]:
                self._renew(self.by_name[name], fresh)
            else:
                self.place(fresh)
        self._sort()

    def place(self, book: AnyBook) -> None:
        """Makes a book from the pods that are there. One that had its name is told no more."""
        before = self._take_off(book.name) if book.name in self.by_name else None
        fresh = self._anew.made(book, before)
        book._entries, book._left_out, book._broken = fresh._entries, fresh._left_out, fresh._broken
        book._shelf = self
        self.by_name[book.name] = book
        self.unattended = self.unattended or book._broken
        self._sort()

    def _take_off(self, name: str) -> AnyBook:
        """Who looks back finds it, as long as somebody has it."""
        book = self.by_name.pop(name)
        book._shelf = Draft(book)  # what is still written there is for nobody else to read
        self._cluster.history.extend([(shelve, (name, ref(book)))])
        return book

    def _renew(self, book: AnyBook, fresh: AnyBook) -> None:
        """A book is made again by who comes, with arguments of its own."""
        if not _are_equal(book._arguments, fresh._arguments):
            self._put_all(book, self._anew.made(fresh, book))
        book._become(fresh)

    def _put_all(self, book: AnyBook, fresh: AnyBook) -> None:
        """The book is as the one that was made anew."""
        self._make(put_all, book.name, fresh._entries, fresh._left_out, fresh._broken)
        self.unattended = self.unattended or book._broken

    def _sort(self) -> None:
        self.told = tuple(self.by_name.values())
        self._hearing = tuple(each for each in self.told if each._hooks)
        self.following = any(each._follows for each in self.told)
        concerns = [each.concerns for each in self._hearing]
        one = concerns[0] if len(concerns) == 1 else None
        self.taking = NOBODY if not concerns else Anybody(concerns) if one is None else one

    def fork(self, cluster: Cluster) -> Books:
        """The same books for a fork of the cluster."""
        fork = Books(cluster)
        for book in self.by_name.values():
            fork.inherit(book)
        fork.unattended = any(book._broken for book in fork.told)
        return fork

    def inherit(self, book: AnyBook) -> None:
        """A copy of a book of the cluster that this one is a fork of has its name here."""
        own = book._blank()
        own._entries, own._left_out = book._entries.copy(), book._left_out.copy()
        own._broken, own._shelf = book._broken, self
        self.by_name[book.name] = own
        self._sort()

    # what books write

    def make(self, change: Callable[..., Change], *arguments: Any) -> None:
        """Makes a change that a book or a plugin writes. BookError when it could not be undone or kept."""
        if self.sealed:
            raise BookError(self.sealed)
        if not self._calls.telling and change is not touch:
            self.by_name[arguments[0]]._check_writer()
        self._make(change, *arguments)

    def _make(self, change: Callable[..., Change], *arguments: Any) -> None:
        """Makes a change of a book: in the statement that is open, or for good when none is."""
        reverse = change(self._cluster, *arguments)
        if self.open:
            self.open[-1].also(reverse)
        else:
            self._cluster.history.extend([reverse])
            if change is touch:
                self.mark(*arguments)

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
        uid = placed.pod.metadata.uid
        for book in self._hearing:  # as in `_told_of`, which takes longer
            if book.concerns is None or uid in book.concerns:
                self._tell_coming(statement, book, placed, anew=found)

    def goes(self, statement: Statement, placed: Placed, *, stranded: bool = False) -> None:
        """A pod leaves its place. Stranded: its node does."""
        for book in self._told_of(placed):
            self._tell_going(statement, book, placed, placed.pod)
            if placed.pod.metadata.uid in book._left_out:
                if not stranded:
                    self._leave_out(statement, book, placed, False)
            elif not stranded and placed.hold is not PROMISED:
                self._tell(statement, book, "given_back", placed.pod, placed.node)

    def holds(self, statement: Statement, placed: Placed) -> None:
        """A pod is on its way out now, or is so no more."""
        hook, uid = "leaving" if placed.hold is RELEASING else "staying", placed.pod.metadata.uid
        for book in self._told_of(placed) if placed.row is not None else ():
            if uid not in book._left_out:
                self._tell(statement, book, hook, placed.pod, self._view(placed.row))

    def changed(self, statement: Statement, old: Pod, placed: Placed) -> None:
        """A pod that holds its place has another object."""
        for book in self._told_of(placed):
            self._tell_going(statement, book, placed, old)
            self._tell_coming(statement, book, placed, anew=True)

    def node_goes(self, statement: Statement, row: int) -> None:
        """A node goes, or is about to change."""
        for placed in self._cluster.pods.on(row).values():
            for book in self._told_of(placed):
                self._tell_going(statement, book, placed, placed.pod)
        for book in self.told:
            self._tell(statement, book, "node_removed", self._view(row))

    def node_came(self, statement: Statement, row: int) -> None:
        """A node has come, or has changed."""
        for book in self.told:
            self._tell(statement, book, "node_added", self._view(row))
        for placed in self._cluster.pods.on(row).values():
            for book in self._told_of(placed):
                self._tell_coming(statement, book, placed, anew=True)

    def _told_of(self, placed: Placed) -> list[AnyBook]:
        uid = placed.pod.metadata.uid
        return [book for book in self._hearing if book._concerns_pod(uid)]

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
        for hook in hooks_of_coming(placed.hold) if row is not None and book._follows else ():
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
        error = self._calls.call(book, hook, *about)
        if error is not None:
            statement.undo_since(mark)
            if hook in TAKING_IN and not took_too_long(error):
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
                self._put_all(book, self._anew.made(book, book))

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
                fresh = self._anew.made(book, book, without=book._left_out)
                _compare(book.name, book._entries, fresh._entries)

    def _view(self, row: int | None) -> StaticNode:
        assert row is not None
        while len(self._static) <= row:
            self._static.append(StaticNode(self._cluster.nodes, self._cluster.pods, len(self._static)))
        return self._static[row]


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


def _are_equal(arguments: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    """Those that cannot be compared are not."""
    try:
        return bool(arguments == others)
    except Exception:
        return False
