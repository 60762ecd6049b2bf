"""All kept evaluations, by class; the least recently used are dropped when there are too many."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterator

from mooring.cluster.cluster import Cluster
from mooring.cluster.view import ClusterView
from mooring.engine.classes import PodClass
from mooring.engine.kept.evaluation import KeptEvaluation
from mooring.engine.kept.forms import Forms
from mooring.engine.kept.static import StaticPart
from mooring.framework.cycle import Cycle
from mooring.framework.plugin import WHOLE_POD
from mooring.framework.scope import Scope

ROWS_KEPT = 5_000_000  # over all classes: about 100 bytes each
FEWEST_KEPT = 8  # classes, however large the cluster


class KeptEvaluations:
    """Evaluations of classes whose plugins all keep their answers."""

    def __init__(self, cluster: Cluster, view: ClusterView) -> None:
        self._cluster = cluster
        self._view = view
        self._kept: OrderedDict[Hashable, KeptEvaluation] = OrderedDict()
        self._static: dict[Hashable, StaticPart] = {}

    def __iter__(self) -> Iterator[KeptEvaluation]:
        return iter(list(self._kept.values()))

    def of(self, pod_class: PodClass, cycle: Cycle) -> KeptEvaluation:
        key = (pod_class.profile.name, pod_class.id, cycle.skip_filter, cycle.skip_score)
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
            return found
        static, forms = self._static_part(pod_class, cycle)
        rows = Forms.of(pod_class, Scope.ROW, cycle)
        kept = KeptEvaluation(self._cluster, self._view, static, rows, forms)
        if pod_class.shared:
            self._kept[key] = kept
            self._drop_oldest()
        return kept

    def forget(self) -> None:
        """Drops everything: some plugin's answers are no longer right."""
        self._kept.clear()
        self._static.clear()

    def _static_part(self, pod_class: PodClass, cycle: Cycle) -> tuple[StaticPart, Forms]:
        forms = Forms.of(pod_class, Scope.STATIC, cycle)
        signs = tuple((name, pod_class.signs[name]) for name in forms.plugins())
        whole = not pod_class.shared or any(sign is WHOLE_POD for _, sign in signs)
        own = pod_class.id if whole else None
        key = (pod_class.profile.name, signs, own, cycle.skip_filter, cycle.skip_score)
        if not pod_class.shared:
            return StaticPart(self._cluster, self._view, forms), forms
        static = self._static.get(key)
        if static is None:
            static = self._static[key] = StaticPart(self._cluster, self._view, forms)
        return static, forms

    def _drop_oldest(self) -> None:
        most = max(FEWEST_KEPT, ROWS_KEPT // max(1, self._cluster.nodes.high))
        while len(self._kept) > most:
            self._kept.popitem(last=False)
        if len(self._static) > 2 * most:
            self._static.clear()  # evaluations in use keep theirs
