"""A book: entries that follow the pods of the cluster, wherever they take or give back a place.

A book is told of each change once, when it is made. What it writes then is a change of its own, in the same
statement: undoing the statement puts back what was written, and the book is not told again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, ItemsView, Iterator
from copy import copy
from fractions import Fraction
from operator import index
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar
from weakref import ref

from mooring.cluster.books.changes import ABSENT, count, put, touch
from mooring.cluster.view import StaticNode
from mooring.errors import BookError
from mooring.model.objects import Pod

if TYPE_CHECKING:
    from mooring.cluster.changes import Change

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

HOOKS = (
    "added", "removed", "leaving", "staying", "promised", "unpromised",
    "node_added", "node_removed", "taken", "given_back",
)  # fmt: skip


LOST = (
    "is written by a plugin, and would lose that when it is made anew from the pods that are there: give it "
    "recalled(pod, node_name, before), or begun(before), to take over what was written"
)
ANYWHERE = {"taken", "given_back"}  # told whether the node is known or not


class Shelf(Protocol):
    """Where a book stands: makes its changes, so that they can be undone."""

    def make(self, change: Callable[..., Change], *arguments: Any) -> None: ...


class Book(Generic[K, V]):
    """Base of all books: a mapping that is read like a dict, and written with `add`, `set` and `drop`.

    name        what it is called; the class name when not given. There is one of each name in a scheduler
    marks_rows  that it touches each node about which an answer may be another one after it has written
    concerns    the uids of the pods it is told of; None: of all. Others cost it nothing
    """

    name: ClassVar[str] = ""
    marks_rows: ClassVar[bool] = False
    concerns: Container[str] | None = None

    _arguments: tuple[Any, ...]  # it was made with
    _hooks: ClassVar[frozenset[str]] = frozenset()  # what it is told: nothing but what it says anything about
    _follows: ClassVar[bool] = False  # whether it hears of pods on nodes that are known, and of nodes
    _hears_counts: ClassVar[bool] = False
    _takes_over: ClassVar[bool] = False  # when it is made anew, from what it was before
    _entries: dict[K, V]
    _left_out: dict[str, None]  # uids of pods that it failed to take in
    _broken: bool
    _shelf: Shelf

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in vars(cls):
            cls.name = cls.__name__
        cls._hooks = frozenset(hook for hook in HOOKS if getattr(cls, hook) is not getattr(Book, hook))
        cls._follows = bool(cls._hooks - ANYWHERE)
        cls._hears_counts = cls.counted is not Book.counted
        cls._takes_over = cls.recalled is not Book.recalled or cls.begun is not Book.begun

    def __new__(cls, *arguments: Any, **named: Any) -> Self:
        book = super().__new__(cls)._emptied()
        book._arguments = arguments
        return book

    # What it is told. Each has its opposite, which is told later or never.

    def added(self, pod: Pod, node: StaticNode) -> None:
        """A pod has a place on a node. Told again, after `removed`, when the object of either changes."""

    def removed(self, pod: Pod, node: StaticNode) -> None:
        """A pod has no place on the node any more, or the node is not there any more."""

    def leaving(self, pod: Pod, node: StaticNode) -> None:
        """A pod that was added is on its way out, and still has its place."""

    def staying(self, pod: Pod, node: StaticNode) -> None:
        """It is not on its way out after all; also told before such a pod is removed."""

    def promised(self, pod: Pod, node: StaticNode) -> None:
        """A pod is promised room that others are leaving."""

    def unpromised(self, pod: Pod, node: StaticNode) -> None:
        """It is promised no more."""

    def node_added(self, node: StaticNode) -> None:
        """A node is there. Told again, after `node_removed`, when its object changes."""

    def node_removed(self, node: StaticNode) -> None:
        """A node is there no more."""

    def taken(self, pod: Pod, node_name: str) -> None:
        """A pod takes a place. Told once, whatever becomes of its object and of the node."""

    def given_back(self, pod: Pod, node_name: str) -> None:
        """A pod gives its place back."""

    def begun(self, before: Self) -> None:
        """Told first when the book is made anew, to take over what does not follow from the pods that are
        there."""

    def recalled(self, pod: Pod, node_name: str, before: Self) -> None:
        """Told in the place of `taken` when the book is made anew from the pods that are there. A book of
        choices takes over what it said of the pod before."""
        self.taken(pod, node_name)

    def counted(self, key: K) -> None:
        """A count is another one: `add` was called, or undone. For what follows from counts alone."""

    # writing

    def add(self, key: K, amount: int | Fraction = 1) -> None:
        """Counts up or down, exactly. A key that comes to 0 is not there."""
        self._shelf.make(count, self.name, key, amount if type(amount) is int else _exact(amount))

    def set(self, key: K, value: V) -> None:
        """Values are never changed, only replaced: others may have them."""
        self._shelf.make(put, self.name, key, value)

    def drop(self, key: K) -> None:
        """Nothing, if there is no such key."""
        if key in self._entries:
            self._shelf.make(put, self.name, key, ABSENT)

    def touch(self, node: str) -> None:
        """What is known of a node is worked out anew, and who waits for it may look again."""
        self._shelf.make(touch, self.name, node)

    # reading

    def get(self, key: K, default: V | None = None) -> V | None:
        return (self._entries if not self._broken else self._readable()).get(key, default)

    def count(self, key: K) -> int:
        """What was counted with `add`."""
        entries: Any = self._entries if not self._broken else self._readable()
        found: int = entries.get(key, 0)
        return found

    def __getitem__(self, key: K) -> V:
        return self._readable()[key]

    def __contains__(self, key: object) -> bool:
        return key in self._readable()

    def __iter__(self) -> Iterator[K]:
        return iter(self._readable())

    def __len__(self) -> int:
        return len(self._readable())

    def __bool__(self) -> bool:
        return True

    def items(self) -> ItemsView[K, V]:
        return self._readable().items()

    def _readable(self) -> dict[K, V]:
        if self._broken:
            raise BookError(f"the book {self.name} failed and is not to be read until it is made anew")
        return self._entries

    # what follows is for the cluster

    def _check_writer(self) -> None:
        """Raises BookError when somebody else than the book writes what would be lost when it is made anew.
        Who keeps up which pods concern it writes what follows from that."""
        if not self._takes_over and self.concerns is None:
            raise BookError(f"the book {self.name} {LOST}")

    def _concerns_pod(self, uid: str) -> bool:
        return self.concerns is None or uid in self.concerns

    def _blank(self) -> Self:
        """The same with nothing in it, for nobody to see."""
        return copy(self)._emptied()

    def _as_it_was(self) -> Self:
        """The same to look back at, also when it is broken."""
        past = copy(self)
        past._broken = False
        return past

    def _emptied(self) -> Self:
        self._entries, self._left_out, self._broken, self._shelf = {}, {}, False, Draft(self)
        return self

    def _become(self, fresh: Self) -> None:
        """Has all that the other was made with, and the entries it has."""
        entries, left_out, broken, shelf = self._entries, self._left_out, self._broken, self._shelf
        vars(self).clear()
        vars(self).update(vars(fresh))
        self._entries, self._left_out, self._broken, self._shelf = entries, left_out, broken, shelf


def _exact(amount: object) -> int | Fraction:
    """Sums of floats do not come back to 0."""
    if isinstance(amount, Fraction):
        return amount
    try:
        return index(amount)  # type: ignore[arg-type]
    except TypeError:
        what = f"a book counts whole numbers and fractions, not {type(amount).__name__} {amount!r}"
        raise TypeError(f"{what}: count in a smaller unit, or say Fraction") from None


class Draft:
    """Stands for the cluster of a book that is not in any."""

    def __init__(self, book: Book[Any, Any]) -> None:
        self._book = ref(book)
        self._reverses: list[Change] = []

    @property
    def books(self) -> Draft:
        return self

    @property
    def by_name(self) -> dict[str, Book[Any, Any]]:
        book = self._book()
        assert book is not None
        return {book.name: book}

    def make(self, change: Callable[..., Change], *arguments: Any) -> None:
        if change is not touch:
            self._reverses.append(change(self, *arguments))

    def begin(self) -> None:
        """What was written so far stands."""
        self._reverses = []

    def undo(self) -> None:
        for change, arguments in reversed(self._reverses):
            change(self, *arguments)
        self._reverses = []
