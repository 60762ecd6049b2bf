"""Label sets of pods, and the selectors that look at them.

Placement can see a pod's labels only through selectors. So two pods whose labels are matched by the
same selectors are alike, however many other labels they carry (`statefulset.kubernetes.io/pod-name`
makes no pod special until somebody selects on it). A selector registered later is matched once
against each distinct set. Sets and selectors that nobody holds any more are forgotten.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping
from weakref import ref

import msgspec

UNUSED_SETS = 1024  # that may be known beside as many as placed pods have: those of pods that wait
UNUSED_SELECTORS = 64  # numbers that may be left in sets beside as many as there are selectors

LabelTest = Callable[[str, Mapping[str, str]], bool]  # (namespace, labels) -> matches
Label = tuple[str, str]
TABLES = itertools.count()  # numbers, so that sets of one are not taken for those of another


class LabelSet(msgspec.Struct, eq=False, weakref=True):
    """One distinct (namespace, labels), with the ids of the selectors that match it."""

    id: int
    namespace: str
    labels: Mapping[str, str]
    table: int  # the number of the table it is in
    matches: tuple[int, ...] = ()


class Selector(msgspec.Struct, frozen=True, eq=False):
    """`needs` is a label without which it never matches."""

    key: object
    test: LabelTest
    needs: Label | None

    def meets(self, labelset: LabelSet) -> bool:
        is_asked = self.needs is None or self.needs in labelset.labels.items()
        return is_asked and self.test(labelset.namespace, labelset.labels)


class LabelSets:
    """Interned label sets and registered selectors."""

    def __init__(self) -> None:
        self.number = next(TABLES)
        self._sets: dict[tuple[object, ...], LabelSet] = {}
        self._seen: dict[tuple[object, ...], LabelSet] = {}  # the same, by labels in the order they came in
        self._last: tuple[str, Mapping[str, str], LabelSet] | None = None  # a pod is looked at repeatedly
        self._made = 0
        self._most = UNUSED_SETS
        self._numbers: dict[object, int] = {}  # of selectors, by key
        self._selectors: dict[int, Selector] = {}
        self._registered = 0
        self._needing: dict[Label | None, dict[int, Selector]] = {None: {}}  # by the label they need
        self._holding: dict[str, dict[str, list[LabelSet]]] = {}  # sets by values of the labels they need
        self._matched: set[int] = set()
        self._forgotten: set[int] = set()  # selectors whose numbers may still be in sets
        self._outdated: set[int] = set()  # selectors whose tests are those of plugins that may be gone
        self.version = 0  # moves when a selector is added: kept class ids are then stale

    def fork(self) -> LabelSets:
        """The same selectors. Sets are looked at anew when they come up; tests are those of who registered
        them, until somebody registers the same again."""
        fork = LabelSets()
        fork._made, fork._registered, fork.version = self._made, self._registered, self.version
        fork._numbers, fork._selectors = self._numbers.copy(), self._selectors.copy()
        fork._needing = {label: needing.copy() for label, needing in self._needing.items()}
        fork._matched = self._matched.copy()
        fork.renew()
        return fork

    def renew(self) -> None:
        """Other plugins ask from now on: whoever registers a selector again brings the test that counts."""
        self._outdated = set(self._selectors)

    def intern(self, namespace: str, labels: Mapping[str, str]) -> LabelSet:
        last = self._last
        if last is not None and last[1] is labels and last[0] == namespace:
            return last[2]
        seen = (namespace, *labels.items())
        known = self._seen.get(seen)
        if known is None:
            if len(self._seen) >= self._most:
                self._forget_sets()
            known = self._seen[seen] = self._met(namespace, labels)
        self._last = (namespace, labels, known)
        return known

    def _met(self, namespace: str, labels: Mapping[str, str]) -> LabelSet:
        """The set of these labels, in whatever order."""
        key = _key(namespace, labels)
        known = self._sets.get(key)
        if known is None:
            known = LabelSet(self._made, namespace, dict(labels), self.number)
            self._made += 1
            known.matches = self._matching(namespace, labels)
            self._sets[key] = known
            for name, value in labels.items():
                if name in self._holding:
                    self._holding[name].setdefault(value, []).append(known)
        return known

    def _forget_sets(self) -> None:
        """All but those that somebody holds: a cluster in which Jobs come and go has ever new ones."""
        held = list(map(ref, self._sets.values()))
        self._last = None
        for table in (self._sets, self._seen, self._holding):
            table.clear()
        for each in held:
            if (known := each()) is not None:
                self._sets[_key(known.namespace, known.labels)] = known
        self._most = 2 * len(self._sets) + UNUSED_SETS

    def match_anew(self, namespaces: Collection[str] | None = None) -> bool:
        """Matches every set, or those of some namespaces, against every selector again: what a selector reads
        has changed. False when it makes no difference."""
        different = False
        for known in self._sets.values():
            if namespaces is None or known.namespace in namespaces:
                matches = self._matching(known.namespace, known.labels)
                different = different or matches != known.matches
                known.matches = matches
        self.version += different
        return different

    def _matching(self, namespace: str, labels: Mapping[str, str]) -> tuple[int, ...]:
        """The selectors that match: of those that need a label, only who needs one of these is asked."""
        asked = [*self._needing[None].items()]
        for label in labels.items():
            if (needing := self._needing.get(label)) is not None:
                asked += needing.items()
        found = sorted([number for number, selector in asked if selector.test(namespace, labels)])
        self._matched.update(found)
        return tuple(found)

    def matched(self, number: int) -> bool:
        """Whether a selector matches, or has matched, any set that was met."""
        return number in self._matched

    def number_of(self, key: object) -> int:
        """The id that a selector has, or is to have."""
        known = self._numbers.get(key)
        if known is None:
            known, self._registered = self._registered, self._registered + 1
        return known

    def register(
        self, key: object, test: LabelTest, needs: Label | None = None, number: int | None = None
    ) -> int:
        """The id of a selector. `key` is its canonical form: registering it again changes nothing. With many
        selectors it saves most of the questions to know a label without which it never matches. `number` is
        the id it is to have."""
        known = self._numbers.get(key)
        if known in self._outdated:
            self._outdated.discard(known)
            self._exchange(known, Selector(key, test, needs))
        if known is None:
            known = self._numbers[key] = self.number_of(key) if number is None else number
            selector = self._selectors[known] = Selector(key, test, needs)
            self.version += 1
            self._needing.setdefault(needs, {})[known] = selector
            for labelset in self._sets.values() if needs is None else self._with_label(*needs):
                if test(labelset.namespace, labelset.labels):
                    labelset.matches += (known,)
                    self._matched.add(known)
        return known

    def _exchange(self, number: int, selector: Selector) -> None:
        """A selector has another test. The version moves if that matches other sets."""
        self._take_out(number, self._selectors[number].needs)
        self._selectors[number] = selector
        self._needing.setdefault(selector.needs, {})[number] = selector
        different = [
            known for known in self._sets.values() if selector.meets(known) != (number in known.matches)
        ]
        for known in different:
            if number in known.matches:
                known.matches = tuple([each for each in known.matches if each != number])
            else:
                known.matches = tuple(sorted([*known.matches, number]))
                self._matched.add(number)
        self.version += bool(different)

    def _take_out(self, number: int, needs: Label | None) -> None:
        needing = self._needing[needs]
        del needing[number]
        if not needing and needs is not None:
            del self._needing[needs]

    def forget(self, numbers: Iterable[int]) -> None:
        """Nobody asks about these selectors any more."""
        for number in numbers:
            selector = self._selectors.pop(number)
            del self._numbers[selector.key]
            self._outdated.discard(number)
            self._take_out(number, selector.needs)
            if number in self._matched:
                self._matched.discard(number)
                self._forgotten.add(number)
        if len(self._forgotten) > len(self._selectors) + UNUSED_SELECTORS:
            self._forgotten.clear()
            self._holding.clear()
            there = self._selectors
            for known in self._sets.values():
                if not there.keys() >= set(known.matches):
                    known.matches = tuple([number for number in known.matches if number in there])

    def _with_label(self, name: str, value: str) -> list[LabelSet]:
        """The sets with a label. Those that nobody asked about yet are sorted by it now, once."""
        if name not in self._holding:
            holding: dict[str, list[LabelSet]] = {}
            self._holding[name] = holding
            for labelset in self._sets.values():
                if (held := labelset.labels.get(name)) is not None:
                    holding.setdefault(held, []).append(labelset)
        return self._holding[name].get(value, [])


def _key(namespace: str, labels: Mapping[str, str]) -> tuple[object, ...]:
    return namespace, *sorted(labels.items())
