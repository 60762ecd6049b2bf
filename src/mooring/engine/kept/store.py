"""All kept evaluations, by class; the least recently used are dropped when there are too many."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator
from weakref import WeakValueDictionary

from mooring.cluster.cluster import Cluster
from mooring.cluster.view import ClusterView
from mooring.engine.classes import PodClass
from mooring.engine.kept.evaluation import KeptEvaluation
from mooring.engine.kept.forms import Forms
from mooring.engine.kept.static import StaticPart
from mooring.framework.cycle import Cycle
from mooring.framework.plugin import WHOLE_POD
from mooring.framework.scope import Scope

ROWS_KEPT = 400_000  # over all classes: about 500 bytes each
FEWEST_KEPT = 8  # classes, however large the cluster


class KeptEvaluations:
    """Evaluations of classes whose plugins all keep their answers."""

    def __init__(self, cluster: Cluster, view: ClusterView) -> None:
        self._cluster = cluster
        self._view = view
        self._kept: OrderedDict[PodClass, KeptEvaluation] = OrderedDict()
        self._last_used: dict[PodClass, int] = {}
        self._turn = 0
        self._static: WeakValueDictionary[Hashable, StaticPart] = WeakValueDictionary()  # used by those kept

    def __iter__(self) -> Iterator[KeptEvaluation]:
        return iter(list(self._kept.values()))

    def worth(self, pod_class: PodClass, cycle: Cycle) -> bool:
        """Whether to keep an evaluation of the class: not for its first pod, which may be its only one,
        and not by dropping the evaluation of a class that is as busy."""
        if not (pod_class.keeps and pod_class.shared):
            return False
        if not pod_class.met:
            pod_class.met = True
            # To judge by domain every node has to be taken in at any rate; keeping that costs no more.
            if not Forms.of(pod_class, Scope.DOMAIN, cycle).plugins():
                return False
        self._turn += 1
        if pod_class in self._kept:
            return True
        most = max(FEWEST_KEPT, ROWS_KEPT // max(1, self._cluster.nodes.high))
        if len(self._kept) < most:
            return True
        oldest = next(iter(self._kept))
        if self._turn - self._last_used[oldest] <= 2 * most:
            return False
        del self._kept[oldest], self._last_used[oldest]
        return True

    def known(self, pod_class: PodClass) -> KeptEvaluation | None:
        """The evaluation of a class, if there is one."""
        return self._kept.get(pod_class)

    def of(self, pod_class: PodClass, cycle: Cycle) -> KeptEvaluation:
        """The evaluation of a class, made now if there is none or the plugins that skip it are others."""
        skips = (cycle.skip_filter, cycle.skip_score)
        self._last_used[pod_class] = self._turn
        found = self._kept.get(pod_class)
        if found is not None and found.skips == skips:
            self._kept.move_to_end(pod_class)
            return found
        static, forms = self._static_part(pod_class, cycle)
        rows, domains = (Forms.of(pod_class, scope, cycle) for scope in (Scope.ROW, Scope.DOMAIN))
        kept = KeptEvaluation(self._cluster, self._view, static, forms, rows, domains)
        kept.skips = skips
        self._kept[pod_class] = kept
        return kept

    def forget(self) -> None:
        """Drops everything: some plugin's answers are no longer right."""
        self._kept.clear()
        self._last_used.clear()
        self._static.clear()

    def _static_part(self, pod_class: PodClass, cycle: Cycle) -> tuple[StaticPart, Forms]:
        forms = Forms.of(pod_class, Scope.STATIC, cycle)
        signs = tuple((name, pod_class.signs[name]) for name in forms.plugins())
        own = pod_class.id if any(sign is WHOLE_POD for _, sign in signs) else None
        key = (pod_class.profile.name, signs, own, cycle.skip_filter, cycle.skip_score)
        static = self._static.get(key)
        if static is None:
            static = self._static[key] = StaticPart(self._cluster, self._view, forms)
        return static, forms
