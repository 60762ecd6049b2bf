"""How many pods on each node match a selector, or carry a term: kept as pods come and go.

Spreading and affinity ask such questions for every node and every pod. Each question is registered
once; from then on a pod that takes or gives back a place changes the counts it concerns, and only
those. A question registered late is answered first for the pods that are there already. One that nobody
holds the answer to, and that was not asked lately, is forgotten.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable
from weakref import ref

from mooring.cluster.counts_to_come import CountsToCome
from mooring.cluster.labelsets import Label, LabelSet, LabelSets, LabelTest
from mooring.cluster.pods import PROMISED, Placed
from mooring.cluster.row_counts import Carrier, RowCounts
from mooring.model.objects import Pod

ASKED_LATELY = 1024  # selectors that stay known although nobody holds their counts
IDLE_TERMS = 256  # times that a term was carried no more, before those are forgotten that nobody carries


class PodCounts:
    """Every registered question, and its answer."""

    def __init__(self, labelsets: LabelSets, placed: Callable[[], Iterable[Placed]]) -> None:
        self._labelsets = labelsets
        self._placed = placed
        self._selectors: dict[int, ref[RowCounts]] = {}
        self._asked: OrderedDict[int, RowCounts] = OrderedDict()  # lately, the least recent first
        self._unheld: list[int] = []  # selectors whose counts nobody holds any more
        self._carriers: list[tuple[Carrier, dict[Hashable, RowCounts]]] = []
        self.carried: dict[str, dict[Hashable, RowCounts]] = {}  # by carrier, then by term
        self._tallies: dict[str, tuple[Carrier, dict[Hashable, int]]] = {}
        self._outdated: set[str] = set()  # carriers whose functions are those of plugins that may be gone
        self._outdated_tallies: set[str] = set()
        self.to_come: CountsToCome | None = None  # while plugins are made that may ask
        self._all_met = False  # whether the labels of every placed pod have been met
        self._idle = 0  # times that a term was carried no more
        self.recounts = 0  # moves when terms are carried in another order than they came up in
        self.version = 0  # moves when a term is carried for the first time, or no longer by anyone

    def fork(self, labelsets: LabelSets, placed: Callable[[], Iterable[Placed]]) -> PodCounts:
        """The same questions and answers; who asked does not hold the answers of the fork."""
        fork = PodCounts(labelsets, placed)
        for number, held in self._selectors.items():
            if (counts := held()) is not None:
                fork._asked[number] = fork._holding(number, counts.fork())
        for (name, carried), (terms_of, _) in zip(self.carried.items(), self._carriers, strict=True):
            own = fork.carried[name] = {term: counts.fork() for term, counts in carried.items()}
            fork._carriers.append((terms_of, own))
        fork._tallies = {name: (keys_of, tally.copy()) for name, (keys_of, tally) in self._tallies.items()}
        fork._outdated, fork._outdated_tallies = set(self.carried), set(self._tallies)
        fork._idle, fork.recounts, fork.version = self._idle, self.recounts, self.version
        return fork

    def put_in_force(self, asked: CountsToCome) -> None:
        """Counts for other plugins from now on: whoever asks again brings the function that counts. Nothing
        is changed when one of them cannot say what it counts of a pod that is there."""
        asked.try_out(self._placed())
        self._labelsets.renew()
        self._outdated, self._outdated_tallies = set(self.carried), set(self._tallies)
        asked.ask(self)

    def register(self, key: object, test: LabelTest) -> int:
        """The id of a selector by which pods differ, and are not counted."""
        if self.to_come is not None:
            return self.to_come.register(key, test, self._labelsets.number_of(key))
        return self._labelsets.register(key, test)

    def selector(
        self,
        key: Hashable,
        test: LabelTest,
        needs: Label | None = None,
        *,
        staying: bool = False,
        into: RowCounts | None = None,
    ) -> RowCounts:
        """The counts of a selector; `key` is its canonical form, so it is counted once. `needs` is a label
        without which it never matches. `staying` leaves out pods that are terminating. `into`: the counts, if
        there are none yet."""
        if self.to_come is not None:
            return self.to_come.selector(key, test, needs, staying, self._known(key, staying))
        version = self._labelsets.version
        number = self._labelsets.register((key, staying), test, needs)
        held = self._selectors.get(number)
        counts = None if held is None else held()
        if counts is None:
            counts = self._holding(number, into or RowCounts(staying=staying))
            if not self._all_met or self._labelsets.matched(number):
                self._count_placed(number, counts)
        elif version != self._labelsets.version or not self._all_met:  # it may have another test
            counts.clear()
            self._count_placed(number, counts)
        self._asked[number] = counts
        self._asked.move_to_end(number)
        if len(self._asked) > ASKED_LATELY:
            self._asked.popitem(last=False)
        if self._unheld:
            self._forget_selectors()
        return counts

    def _known(self, key: Hashable, staying: bool) -> RowCounts | None:
        held = self._selectors.get(self._labelsets.number_of((key, staying)))
        return None if held is None else held()

    def registered(self, key: object, test: LabelTest, number: int) -> None:
        """A selector that was asked for before it was in force has the id that was told."""
        self._labelsets.register(key, test, number=number)

    def _holding(self, number: int, counts: RowCounts) -> RowCounts:
        """Has counts kept up as long as somebody holds them."""
        self._selectors[number] = ref(counts, lambda _: self._unheld.append(number))
        return counts

    def _forget_selectors(self) -> None:
        unheld, self._unheld = self._unheld, []
        gone = [number for number in unheld if self._selectors[number]() is None]  # or asked about again
        for number in gone:
            del self._selectors[number]
        self._labelsets.forget(gone)

    def _count_placed(self, number: int, counts: RowCounts) -> None:
        for placed in self._placed():
            known = self._labelset(placed)
            if number in known.matches and _counts(placed) and _is_counted(counts, placed):
                counts.add(_row(placed), 1)
        self._all_met = True

    def note(self, placed: Placed) -> LabelSet:
        """Looks at a pod's labels. A selector that comes later need not, then."""
        meta = placed.pod.metadata
        placed.labelset = labelset = self._labelsets.intern(meta.namespace, meta.labels)
        return labelset

    def _labelset(self, placed: Placed) -> LabelSet:
        known = placed.labelset
        return self.note(placed) if known is None or known.table != self._labelsets.number else known

    def look_at(self, pod: Pod) -> None:
        """Asks everything that is asked of a placed pod, before anything is changed: what cannot be answered
        is then raised without a trace."""
        self._labelsets.intern(pod.metadata.namespace, pod.metadata.labels)
        for terms_of, _ in self._carriers:
            terms_of(pod)
        for keys_of, _ in self._tallies.values():
            keys_of(pod)

    def carrier(
        self, name: str, terms_of: Carrier, into: dict[Hashable, RowCounts] | None = None
    ) -> dict[Hashable, RowCounts]:
        """Counts, for each term, the pods that carry it; `into` this table, if there is none yet."""
        if self.to_come is not None:
            return self.to_come.carrier(name, terms_of, self.carried.get(name))
        if name not in self.carried:
            carried = self.carried[name] = {} if into is None else into
            self._carriers.append((terms_of, carried))
            self._carry_placed(carried, terms_of)
        elif name in self._outdated:
            self._outdated.discard(name)
            carried = self.carried[name]
            self._carriers[list(self.carried).index(name)] = terms_of, carried
            if _by_row(carried) != self._counted(terms_of, with_rows=True):
                carried.clear()
                self._carry_placed(carried, terms_of)
                self.recounts += 1
                self.version += 1
        return self.carried[name]

    def _carry_placed(self, carried: dict[Hashable, RowCounts], terms_of: Carrier) -> None:
        for placed in self._placed():
            if _counts(placed):
                self._carry(carried, terms_of(placed.pod), _row(placed), 1)

    def _counted(self, keys_of: Carrier, *, with_rows: bool) -> dict[Hashable, int]:
        """How many placed pods have each key; or each key on a row."""
        tally: dict[Hashable, int] = {}
        for placed in self._placed():
            if _counts(placed):
                keys = keys_of(placed.pod)
                _count(tally, ((key, _row(placed)) for key in keys) if with_rows else keys, 1)
        return tally

    def tally(
        self, name: str, keys_of: Carrier, into: dict[Hashable, int] | None = None
    ) -> dict[Hashable, int]:
        """How many pods have each key, wherever they are; keys nobody has are not there. `into` this table,
        if there is none yet."""
        if self.to_come is not None:
            return self.to_come.tally(name, keys_of, self._tallies.get(name, (None, None))[1])
        if name not in self._tallies or name in self._outdated_tallies:
            self._outdated_tallies.discard(name)
            _, tally = self._tallies.get(name, (None, {} if into is None else into))
            counted = self._counted(keys_of, with_rows=False)
            tally.clear()
            tally.update(counted)
            self._tallies[name] = keys_of, tally
        return self._tallies[name][1]

    def recount(self, namespaces: Collection[str] | None = None) -> bool:
        """Counts anew: something selectors depend on has changed, of some namespaces or altogether. False
        when that makes no difference to any pod."""
        if not self._labelsets.match_anew(namespaces):
            return False
        for held in self._selectors.values():
            if (counts := held()) is not None:
                counts.clear()
        for carried in self.carried.values():
            carried.clear()
        for _, tally in self._tallies.values():
            tally.clear()
        for placed in self._placed():
            if _counts(placed):
                self.change(placed, 1)
        self.recounts += 1
        self.version += 1
        return True

    def change(self, placed: Placed, amount: int) -> None:
        """A pod came to its row (1) or left it (-1)."""
        row = placed.row
        assert row is not None
        if self._selectors:
            known = placed.labelset
            if known is None or known.table != self._labelsets.number:
                known = self.note(placed)
            for number in known.matches:
                held = self._selectors.get(number)
                if held is not None and (counts := held()) is not None and _is_counted(counts, placed):
                    counts.add(row, amount)
        for terms_of, carried in self._carriers:
            if terms := terms_of(placed.pod):
                self._carry(carried, terms, row, amount)
        if self._tallies:
            for keys_of, tally in self._tallies.values():
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
            if not before or not counts.total:
                self.version += 1
                self._idle += not counts.total  # terms nobody carries stay known for a while, at zero
        if self._idle > IDLE_TERMS and 2 * self._idle > sum(map(len, self.carried.values())):
            self._forget_idle()

    def _forget_idle(self) -> None:
        """Forgets terms that nobody carries, unless somebody holds their counts: they may come up again."""
        self._idle = 0
        for carried in self.carried.values():
            idle = {term: ref(counts) for term, counts in carried.items() if not counts.total}
            for term in idle:
                del carried[term]
            for term, held in idle.items():
                if (still := held()) is not None:
                    carried[term] = still
        self.recounts += 1
        self.version += 1


def _by_row(carried: dict[Hashable, RowCounts]) -> dict[Hashable, int]:
    return {(term, row): count for term, counts in carried.items() for row, count in counts.by_row.items()}


def _count(tally: dict[Hashable, int], keys: Iterable[Hashable], amount: int) -> None:
    for key in keys:
        count = tally.get(key, 0) + amount
        if count:
            tally[key] = count
        else:
            del tally[key]


def _is_counted(counts: RowCounts, placed: Placed) -> bool:
    return not counts.staying or placed.pod.metadata.deletion_timestamp is None


def _counts(placed: Placed) -> bool:
    return placed.row is not None and placed.hold is not PROMISED


def _row(placed: Placed) -> int:
    assert placed.row is not None
    return placed.row
