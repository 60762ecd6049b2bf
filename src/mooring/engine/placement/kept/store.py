"""All kept evaluations, by class; the least recently used are dropped when they take too much memory.

A class begins with arrays, which cost no more to make than one look at every node, and which share a
matrix with those of others. When few classes are busy, those that are get buckets, which take longer to
make and less time to ask.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Hashable, Iterator
from enum import Enum
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from mooring.cluster.cluster import Cluster
from mooring.cluster.view import ClusterView
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.kept.bases import highest, kind_for
from mooring.engine.placement.kept.evaluation import KeptEvaluation
from mooring.engine.placement.kept.forms import Forms, KnownForms
from mooring.engine.placement.kept.matrix import FEWEST, Matrix
from mooring.engine.placement.kept.static import StaticPart
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import WHOLE_POD
from mooring.framework.api.scope import Scope

BYTES_KEPT = 96 * 2**20  # of all evaluations
LAST_DECISIONS = 64  # by which it is judged how many classes are busy
NOBODY = [None] * LAST_DECISIONS
FEW_CLASSES = 8  # busy at a time: each gets buckets
HIGHEST_SORTED = 1 << 17  # total: a group has a bit for each up to its best
PAYS_AFTER = 48  # pods: what buckets save on so many is what it takes to make them
GROWS = 16  # looks at a class between two looks at its size


class Tier(Enum):
    """How an evaluation is held."""

    FLAT = "flat"
    BUCKETS = "buckets"
    MATRIX = "matrix"


class KeptEvaluations:
    """Evaluations of classes whose plugins all keep their answers."""

    def __init__(self, cluster: Cluster, view: ClusterView) -> None:
        self._cluster = cluster
        self._view = view
        self._kept: OrderedDict[PodClass, KeptEvaluation] = OrderedDict()
        self._bytes: dict[PodClass, int] = {}
        self.nbytes = 0  # the memory that they take, as far as it was looked at
        self._static: WeakValueDictionary[Hashable, StaticPart] = WeakValueDictionary()  # used by those kept
        self._matrices: dict[Hashable, Matrix] = {}
        self._forms = KnownForms()
        self._highest: dict[str, int] = {}  # totals, by profile
        self._last: deque[PodClass | None] = deque(NOBODY, LAST_DECISIONS)
        self._busy: Counter[PodClass] = Counter()
        self.most_bytes = BYTES_KEPT
        self.tier: Tier | None = None  # held so whatever is going on, for comparing them

    def __iter__(self) -> Iterator[KeptEvaluation]:
        return iter(list(self._kept.values()))

    def by_class(self) -> list[tuple[PodClass, KeptEvaluation]]:
        return list(self._kept.items())

    def known(self, pod_class: PodClass) -> KeptEvaluation | None:
        """The evaluation of a class, if there is one."""
        return self._kept.get(pod_class)

    def of(self, pod_class: PodClass, cycle: Cycle) -> KeptEvaluation:
        """The evaluation of a class, made now if there is none or the plugins that skip it are others."""
        last = self._last
        longest_ago = last[0]
        last.append(pod_class)
        if longest_ago is not pod_class:  # else it is as busy as before
            self._came(pod_class, longest_ago)
        found = self._kept.get(pod_class)
        if found is None or found.skips != (cycle.skip_filter, cycle.skip_score):
            found = self._make(pod_class, cycle)
        else:
            self._kept.move_to_end(pod_class)
        found.used += 1
        if found.sorted is not (len(self._busy) <= FEW_CLASSES) or self.tier is not None:
            self._choose_tier(found)
        if found.used % GROWS == 1:
            self._weigh(pod_class, found)
        return found

    def _came(self, pod_class: PodClass, for_: PodClass | None) -> None:
        """A class is busier than it was, and another less."""
        busy = self._busy
        busy[pod_class] += 1
        if for_ is None:
            return
        if busy[for_] == 1:
            del busy[for_]
        else:
            busy[for_] -= 1

    def _choose_tier(self, kept: KeptEvaluation) -> None:
        if self.tier is not None:
            matrix = self._matrix(kept) if self.tier is Tier.MATRIX else None
            kept.hold(self.tier is Tier.BUCKETS and kept.can_be_sorted, matrix)
        elif len(self._busy) > FEW_CLASSES:
            if kept.sorted:
                kept.hold(False, self._matrix(kept))
        elif kept.used >= PAYS_AFTER and not kept.sorted and kept.can_be_sorted:
            kept.hold(True, self._matrix(kept))

    def _matrix(self, kept: KeptEvaluation) -> Matrix | None:
        """The one for classes with the same plugins of row scope."""
        if not kept.can_share:
            return None
        forms = kept.row_forms
        key = (forms.filters, forms.plain, kept.kind)
        if key not in self._matrices:
            fewest = FEWEST if self.tier is None else 1
            self._matrices[key] = Matrix(self._cluster, self._view, forms, kept.kind, fewest)
        return self._matrices[key]

    def _make(self, pod_class: PodClass, cycle: Cycle) -> KeptEvaluation:
        self._drop(pod_class)
        static, forms = self._static_part(pod_class, cycle)
        rows, domains = (self._forms.of(pod_class, scope, cycle) for scope in (Scope.ROW, Scope.DOMAIN))
        kept = KeptEvaluation(self._cluster, self._view, static, forms, rows, domains, self._kind(pod_class))
        kept.skips = (cycle.skip_filter, cycle.skip_score)
        kept.can_be_sorted = self._total_of(pod_class) <= HIGHEST_SORTED
        kept.hold(False, self._matrix(kept))
        self._kept[pod_class] = kept
        return kept

    def _kind(self, pod_class: PodClass) -> np.dtype[Any]:
        """Of bases of any class of the profile."""
        return kind_for(self._total_of(pod_class))

    def _total_of(self, pod_class: PodClass) -> int:
        """The highest of any class of the profile."""
        profile = pod_class.profile
        if profile.name not in self._highest:
            self._highest[profile.name] = highest(weight for _, weight in profile.scorers)
        return self._highest[profile.name]

    def _weigh(self, pod_class: PodClass, kept: KeptEvaluation) -> None:
        """Looks how much memory it takes, and drops others when it is too much together."""
        size = kept.nbytes
        self.nbytes += size - self._bytes.get(pod_class, 0)
        self._bytes[pod_class] = size
        while self.nbytes > self.most_bytes and len(self._kept) > 1:
            self._drop(next(iter(self._kept)))

    def _drop(self, pod_class: PodClass) -> None:
        kept = self._kept.pop(pod_class, None)
        if kept is not None:
            kept.leave()
            self.nbytes -= self._bytes.pop(pod_class, 0)

    def forget(self) -> None:
        """Drops everything: some plugin's answers are no longer right."""
        self._kept.clear()
        self._bytes.clear()
        self.nbytes = 0
        self._static.clear()
        self._matrices.clear()
        self._highest.clear()
        self._forms.forget()
        self._last.extend(NOBODY)
        self._busy.clear()

    def check(self) -> None:
        """Asserts that nothing that is kept contradicts anything else."""
        assert self.nbytes == sum(self._bytes.values())
        assert self._bytes.keys() <= self._kept.keys()
        assert self._busy == Counter(each for each in self._last if each is not None)
        for kept in self._kept.values():
            kept.check()
        for matrix in self._matrices.values():
            matrix.check()

    def _static_part(self, pod_class: PodClass, cycle: Cycle) -> tuple[StaticPart, Forms]:
        forms = self._forms.of(pod_class, Scope.STATIC, cycle)
        signs = tuple([(name, pod_class.signs[name]) for name in forms.plugins])
        own = pod_class.id if any(sign is WHOLE_POD for _, sign in signs) else None
        key = (pod_class.profile.name, signs, own, cycle.skip_filter, cycle.skip_score)
        static = self._static.get(key)
        if static is None:
            static = self._static[key] = StaticPart(self._cluster, self._view, forms, self._kind(pod_class))
        return static, forms
