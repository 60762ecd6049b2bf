"""Label sets of pods, and the selectors that look at them.

Placement can see a pod's labels only through selectors. So two pods whose labels are matched by the
same selectors are alike, however many other labels they carry (`statefulset.kubernetes.io/pod-name`
makes no pod special until somebody selects on it). A selector registered later is matched once
against each distinct set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

MOST = 100_000  # sets; a cluster in which Jobs come and go has ever new ones, so then all are met anew

LabelTest = Callable[[str, Mapping[str, str]], bool]  # (namespace, labels) -> matches


class LabelSet(msgspec.Struct, eq=False):
    """One distinct (namespace, labels), with the ids of the selectors that match it."""

    id: int
    epoch: int
    namespace: str
    labels: Mapping[str, str]
    matches: tuple[int, ...] = ()


class LabelSets:
    """Interned label sets and registered selectors."""

    def __init__(self) -> None:
        self._sets: dict[tuple[object, ...], LabelSet] = {}
        self._seen: dict[tuple[object, ...], LabelSet] = {}  # the same, by labels in the order they came in
        self._last: tuple[str, Mapping[str, str], LabelSet] | None = None  # a pod is looked at repeatedly
        self._made = 0
        self.epoch = 0  # moves when all sets are met anew: those of before are no longer matched
        self._selectors: dict[object, int] = {}
        self._tests: list[LabelTest] = []
        self._needing: dict[tuple[str, str], list[int]] = {}  # selectors by a label they need
        self._needing_none: list[int] = []
        self._holding: dict[str, dict[str, list[LabelSet]]] = {}  # sets by values of the labels they need
        self._matched: set[int] = set()
        self.version = 0  # moves when a selector is added: kept class ids are then stale

    def intern(self, namespace: str, labels: Mapping[str, str]) -> LabelSet:
        last = self._last
        if last is not None and last[1] is labels and last[0] == namespace and last[2].epoch == self.epoch:
            return last[2]
        seen = (namespace, *labels.items())
        known = self._seen.get(seen)
        if known is None:
            if len(self._seen) >= MOST:
                self._sets.clear()
                self._seen.clear()
                self._holding.clear()
                self.epoch += 1
            known = self._seen[seen] = self._met(namespace, labels)
        self._last = (namespace, labels, known)
        return known

    def _met(self, namespace: str, labels: Mapping[str, str]) -> LabelSet:
        """The set of these labels, in whatever order."""
        key = (namespace, *sorted(labels.items()))
        known = self._sets.get(key)
        if known is None:
            known = LabelSet(self._made, self.epoch, namespace, dict(labels))
            self._made += 1
            known.matches = self._matching(namespace, labels)
            self._sets[key] = known
            for name, value in labels.items():
                if name in self._holding:
                    self._holding[name].setdefault(value, []).append(known)
        return known

    def match_anew(self) -> None:
        """Matches every set against every selector again: what a selector reads has changed."""
        for known in self._sets.values():
            known.matches = self._matching(known.namespace, known.labels)
        self.version += 1

    def _matching(self, namespace: str, labels: Mapping[str, str]) -> tuple[int, ...]:
        """The selectors that match: of those that need a label, only who needs one of these is asked."""
        asked = [*self._needing_none]
        for label in labels.items():
            asked += self._needing.get(label, ())
        found = sorted([number for number in asked if self._tests[number](namespace, labels)])
        self._matched.update(found)
        return tuple(found)

    def matched(self, number: int) -> bool:
        """Whether a selector matches, or has matched, any set that was met."""
        return number in self._matched

    def register(self, key: object, test: LabelTest, needs: tuple[str, str] | None = None) -> int:
        """The id of a selector. `key` is its canonical form: registering it again changes nothing. `needs` is
        a label without which it never matches: with many selectors that saves most of the questions."""
        known = self._selectors.get(key)
        if known is None:
            known = self._selectors[key] = len(self._tests)
            self._tests.append(test)
            self.version += 1
            (self._needing_none if needs is None else self._needing.setdefault(needs, [])).append(known)
            for labelset in self._sets.values() if needs is None else self._with_label(*needs):
                if test(labelset.namespace, labelset.labels):
                    labelset.matches += (known,)
                    self._matched.add(known)
        return known

    def _with_label(self, name: str, value: str) -> list[LabelSet]:
        """The sets with a label. Those that nobody asked about yet are sorted by it now, once."""
        if name not in self._holding:
            holding: dict[str, list[LabelSet]] = {}
            self._holding[name] = holding
            for labelset in self._sets.values():
                if (held := labelset.labels.get(name)) is not None:
                    holding.setdefault(held, []).append(labelset)
        return self._holding[name].get(value, [])
