"""Trying what a node would say with some of its pods gone, and what a pod needs for a node to take it."""

from __future__ import annotations

from typing import Protocol, Self

import msgspec

from mooring.cluster.columns import Bools
from mooring.framework.api.status import Status

Amounts = tuple[tuple[str, int], ...]  # resources by name


class Trial(Protocol):
    """One node, tried for one pod. On leaving the `with` block everything is as it was."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def remove(self, uid: str) -> None:
        """Takes a pod off the node."""

    def put_back(self, uid: str) -> None:
        """Puts a pod that was taken off back where it was."""

    def status(self) -> Status | None:
        """What the filters say now, also with the pods nominated to the node on it: None when it fits."""


class Others(Protocol):
    """Filters that look at pods besides the one that asks for free resources."""

    @property
    def matter(self) -> Bools:
        """The rows with pods whose going can change what they say."""

    def status(self, row: int) -> Status | None:
        """What they say of any other row, whoever goes from there: None when it passes."""


class Demand(msgspec.Struct, frozen=True):
    """What must be free on a node besides room for one more pod, asked for before any other filter
    that looks at pods."""

    amounts: Amounts
    open: Bools  # rows that pass every filter that looks at node objects alone
    static: frozenset[str]  # those filters
    alone: bool  # no other filter looks at pods: what is free decides on the rows that are open
    others: Others | None = None  # if there are any, and it is known which pods they look at
