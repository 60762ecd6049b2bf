"""Tells a session's event handlers who takes and gives back places on the nodes that the session sees.

What they hear adds up: the pods on a node when the session opened, and those that took a place since, less
those that gave theirs back or were evicted. A pod that is evicted goes then, and is not told again when it is
gone.

A plugin's handlers have the time that it has for an attempt: for all that they are told in one, whoever is
tried, and for each thing that they are told beside any.
"""

from __future__ import annotations

from collections.abc import Callable

from mooring.cluster.books.books import Books
from mooring.cluster.pods import RELEASING, Placed
from mooring.framework.api.session import HookTable, Task
from mooring.framework.running.profile import Profile

UNDONE_TWICE = (
    "event handlers of a session write to no book: they hear of undoing as well, so that what they write "
    "would be undone twice; give the book added and removed, or taken and given_back"
)
Underway = Callable[[], int | None]  # the number of the attempt that is being made


class SessionObserver:
    """Observes the cluster for one session."""

    def __init__(self, hooks: HookTable, profile: Profile, books: Books, attempt: Underway) -> None:
        self._hooks = hooks
        self._books = books
        self._profile = profile
        self._attempt = attempt
        self._number: int | None = None
        self._evicted: set[str] = set()  # uids of pods, as was told

    def taken(self, placed: Placed) -> None:
        uid = placed.pod.metadata.uid
        if uid in self._evicted:
            if placed.hold is RELEASING:
                return  # a trial without it is over, and it goes all the same
            self._evicted.remove(uid)
        self._tell("allocate", placed)

    def given_back(self, placed: Placed) -> None:
        if placed.pod.metadata.uid not in self._evicted:
            self._tell("deallocate", placed)

    def evicted(self, placed: Placed) -> None:
        self._evicted.add(placed.pod.metadata.uid)
        self._tell("deallocate", placed)

    def kept(self, placed: Placed) -> None:
        if placed.pod.metadata.uid in self._evicted:
            self._evicted.remove(placed.pod.metadata.uid)
            self._tell("allocate", placed)

    def _tell(self, kind: str, placed: Placed) -> None:
        if placed.row is not None:
            if self._profile.ledgers:
                self._begin()
            self._books.sealed = UNDONE_TWICE
            try:
                self._hooks.ask(kind, Task(placed.pod, placed.node))
            finally:
                self._books.sealed = ""

    def _begin(self) -> None:
        number, self._number = self._number, self._attempt()
        if number is None or number != self._number:
            self._profile.begin_telling(object())
