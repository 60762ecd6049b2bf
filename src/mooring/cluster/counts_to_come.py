"""What plugins that are being made ask to be counted. Nothing is, before their table of hooks is in force.

They are given at once what will hold the counts: what is there already, or something empty.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from mooring.cluster.labelsets import Label, LabelTest
from mooring.cluster.pods import Placed
from mooring.cluster.row_counts import Carrier, RowCounts
from mooring.model.objects import Pod

if TYPE_CHECKING:
    from mooring.cluster.counts import PodCounts

T = TypeVar("T")


class CountsToCome:
    """The questions of one table, in the order they were asked."""

    def __init__(self) -> None:
        self._asked: list[Callable[[PodCounts], object]] = []
        self._given: dict[Hashable, Any] = {}
        self._functions: list[Callable[[Pod], object]] = []

    def try_out(self, placed: Iterable[Placed]) -> None:
        """Raises what a function raises about a pod that is there."""
        for each in placed if self._functions else ():
            for function in self._functions:
                function(each.pod)

    def ask(self, counts: PodCounts) -> None:
        for question in self._asked:
            question(counts)

    def register(self, key: object, test: LabelTest, number: int) -> int:
        number = self._given.setdefault(("register", key), number)
        self._functions.append(lambda pod: test(pod.namespace, pod.labels))
        self._asked.append(lambda counts: counts.registered(key, test, number))
        return number

    def selector(
        self, key: Hashable, test: LabelTest, needs: Label | None, staying: bool, known: RowCounts | None
    ) -> RowCounts:
        given = self._give(("selector", key, staying), known, partial(RowCounts, staying=staying))
        self._functions.append(lambda pod: test(pod.namespace, pod.labels))
        self._asked.append(lambda counts: counts.selector(key, test, needs, staying=staying, into=given))
        return given

    def carrier(
        self, name: str, terms_of: Carrier, known: dict[Hashable, RowCounts] | None
    ) -> dict[Hashable, RowCounts]:
        given = self._give(("carrier", name), known, dict)
        self._functions.append(terms_of)
        self._asked.append(lambda counts: counts.carrier(name, terms_of, given))
        return given

    def tally(self, name: str, keys_of: Carrier, known: dict[Hashable, int] | None) -> dict[Hashable, int]:
        given = self._give(("tally", name), known, dict)
        self._functions.append(keys_of)
        self._asked.append(lambda counts: counts.tally(name, keys_of, given))
        return given

    def _give(self, question: Hashable, known: T | None, new: Callable[[], T]) -> T:
        if known is not None:
            return known
        if question not in self._given:
            self._given[question] = new()
        given: T = self._given[question]
        return given
