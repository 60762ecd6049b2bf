"""How many pods on each node match a selector, or carry a term: kept as pods come and go.

Spreading and affinity ask such questions for every node and every pod. Each question is registered
once; from then on a pod that takes or gives back a place changes the counts it concerns, and only
those. A question registered late is answered first for the pods that are there already.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable

from mooring.cluster.journal import Journal
from mooring.cluster.labelsets import LabelSet, LabelSets, LabelTest
from mooring.cluster.pods import PROMISED, Placed
from mooring.model.objects import Pod

CHANGES_KEPT = 256  # a reader further behind reads all counts again: there are few

Carrier = Callable[[Pod], tuple[Hashable, ...]]  # the terms a pod carries


class RowCounts:
    """Pods per row; rows without any are not there. The journal names the rows whose count changed."""

    __slots__ = ("by_row", "journal", "total")

    def __init__(self) -> None:
        self.by_row: dict[int, int] = {}
        self.total = 0
        self.journal = Journal(CHANGES_KEPT)

    def add(self, row: int, amount: int) -> None:
        count = self.by_row.get(row, 0) + amount
        if count:
            self.by_row[row] = count
        else:
            self.by_row.pop(row, None)
        self.total += amount
        self.journal.write(row)

    def clear(self) -> None:
        """To be counted anew."""
        self.by_row.clear()
        self.total = 0
        self.journal.restart()

    def on(self, row: int) -> int:
        return self.by_row.get(row, 0)


class SelectorCounts:
    """Pods that match a selector: all of them, and those that are not terminating."""

    __slots__ = ("all", "staying")

    def __init__(self) -> None:
        self.all = RowCounts()
        self.staying = RowCounts()

    def add(self, row: int, pod: Pod, amount: int) -> None:
        self.all.add(row, amount)
        if pod.metadata.deletion_timestamp is None:
            self.staying.add(row, amount)


class PodCounts:
    """Every registered question, and its answer."""

    def __init__(self, labelsets: LabelSets, placed: Callable[[], Iterable[Placed]]) -> None:
        self._labelsets = labelsets
        self._placed = placed
        self._selectors: dict[int, SelectorCounts] = {}
        self._carriers: list[tuple[Carrier, dict[Hashable, RowCounts]]] = []
        self.carried: dict[str, dict[Hashable, RowCounts]] = {}  # by carrier, then by term
        self._tallies: dict[str, tuple[Carrier, dict[Hashable, int]]] = {}
        self._all_met = -1  # the epoch in which the labels of every placed pod have been met
        self.recounts = 0
        self.version = 0  # moves when a term is carried for the first time, or no longer by anyone

    def selector(
        self, key: Hashable, test: LabelTest, needs: tuple[str, str] | None = None
    ) -> SelectorCounts:
        """The counts of a selector; `key` is its canonical form, so it is counted once. `needs` is a label
        without which it never matches."""
        number = self._labelsets.register(key, test, needs)
        counts = self._selectors.get(number)
        if counts is None:
            counts = self._selectors[number] = SelectorCounts()
            if self._all_met != self._labelsets.epoch or self._labelsets.matched(number):
                self._count_placed(number, counts)
        return counts

    def _count_placed(self, number: int, counts: SelectorCounts) -> None:
        epoch = self._labelsets.epoch
        for placed in self._placed():
            known = placed.labelset
            if known is None or known.epoch != epoch:
                known = self.note(placed)
            if number in known.matches and _counts(placed):
                counts.add(_row(placed), placed.pod, 1)
        self._all_met = epoch  # or an older one, if they all were met anew meanwhile

    def note(self, placed: Placed) -> LabelSet:
        """Looks at a pod's labels. A selector that comes later need not, then."""
        meta = placed.pod.metadata
        placed.labelset = labelset = self._labelsets.intern(meta.namespace, meta.labels)
        return labelset

    def carrier(self, name: str, terms_of: Carrier) -> dict[Hashable, RowCounts]:
        """Counts, for each term, the pods that carry it."""
        if name not in self.carried:
            carried = self.carried[name] = {}
            self._carriers.append((terms_of, carried))
            for placed in self._placed():
                if _counts(placed):
                    self._carry(carried, terms_of(placed.pod), _row(placed), 1)
        return self.carried[name]

    def tally(self, name: str, keys_of: Carrier) -> dict[Hashable, int]:
        """How many pods have each key, wherever they are; keys nobody has are not there."""
        if name not in self._tallies:
            self._tallies[name] = keys_of, {}
            for placed in self._placed():
                if _counts(placed):
                    _count(self._tallies[name][1], keys_of(placed.pod), 1)
        return self._tallies[name][1]

    def recount(self) -> None:
        """Counts everything anew: something selectors depend on has changed."""
        self._labelsets.match_anew()
        for counts in self._selectors.values():
            counts.all.clear()
            counts.staying.clear()
        for carried in self.carried.values():
            carried.clear()
        for _, tally in self._tallies.values():
            tally.clear()
        for placed in self._placed():
            if _counts(placed):
                self.change(placed, 1)
        self.recounts += 1
        self.version += 1

    def change(self, placed: Placed, amount: int) -> None:
        """A pod came to its row (1) or left it (-1)."""
        if self._selectors:
            row, known = _row(placed), placed.labelset
            if known is None or known.epoch != self._labelsets.epoch:
                known = self.note(placed)
            for number in known.matches:
                if (counts := self._selectors.get(number)) is not None:
                    counts.add(row, placed.pod, amount)
        for terms_of, carried in self._carriers:
            if terms := terms_of(placed.pod):
                self._carry(carried, terms, _row(placed), amount)
        for keys_of, tally in self._tallies.values() if self._tallies else ():
            if keys := keys_of(placed.pod):
                _count(tally, keys, amount)

    def _carry(
        self, carried: dict[Hashable, RowCounts], terms: Iterable[Hashable], row: int, amount: int
    ) -> None:
        for term in terms:
            counts = carried.get(term)
            if counts is None:
                counts = carried[term] = RowCounts()
                self.version += 1
            before = counts.total
            counts.add(row, amount)
            self.version += not before or not counts.total  # terms nobody carries stay known, at zero


def _count(tally: dict[Hashable, int], keys: Iterable[Hashable], amount: int) -> None:
    for key in keys:
        count = tally.get(key, 0) + amount
        if count:
            tally[key] = count
        else:
            del tally[key]


def _counts(placed: Placed) -> bool:
    return placed.row is not None and placed.hold is not PROMISED


def _row(placed: Placed) -> int:
    assert placed.row is not None
    return placed.row
