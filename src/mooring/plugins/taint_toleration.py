"""TaintToleration: keeps pods off nodes whose taints they do not tolerate, and prefers nodes with few."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from mooring.cluster.column import Ints
from mooring.cluster.columns import Bools, StaticColumns
from mooring.cluster.view import StaticNode
from mooring.framework.api.answers import Rejections
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import NODE, POD, Action, Hint, Interest
from mooring.framework.api.handle import Handle
from mooring.framework.api.normalize import reversed_maximum
from mooring.framework.api.plugin import Plugin, PluginArgs, nothing_to_do, reads_spec_only
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Status, unresolvable
from mooring.model.objects import Node, Pod, Taint, Toleration
from mooring.model.taints import PREFER_NO_SCHEDULE, first_untolerated, tolerates

UNTOLERATED = "node(s) had untolerated taint(s)"


class TaintToleration(Plugin):
    name = "TaintToleration"
    scope = Scope.STATIC
    normalize = staticmethod(reversed_maximum)

    rejection = unresolvable(UNTOLERATED).by(name)

    def __init__(self, args: PluginArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._comparisons = handle.gates.enabled("TaintTolerationComparisonOperators")

    @reads_spec_only
    def sign(self, pod: Pod) -> Hashable:
        # Never None: an untainted node is worth 100 even to a pod that tolerates nothing.
        return frozenset((t.key, t.operator or "Equal", t.value, t.effect) for t in pod.spec.tolerations)

    def filter(self, cycle: Cycle, pod: Pod, node: StaticNode) -> Status | None:
        taints = node.taints
        return self.rejection if taints and self._kept_off(taints, pod.spec.tolerations) else None

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: StaticColumns) -> Bools:
        tolerations = pod.spec.tolerations
        kept_off = nodes.by_taints(lambda taints: self._kept_off(taints, tolerations))
        return np.asarray(kept_off == 0)

    def statuses_of(self, cycle: Cycle, pod: Pod, nodes: StaticColumns) -> Rejections:
        """Why these nodes, which are rejected, are."""
        return Rejections((self.rejection,), np.zeros(len(nodes), np.intp))

    @nothing_to_do
    def pre_score(self, cycle: Cycle, pod: Pod, nodes: object) -> None:
        """Nothing to prepare."""

    def score(self, cycle: Cycle, pod: Pod, node: StaticNode) -> int:
        taints = node.taints
        return self._unwelcome(taints, pod.spec.tolerations) if taints else 0

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: StaticColumns) -> Ints:
        tolerations = pod.spec.tolerations
        return nodes.by_taints(lambda taints: self._unwelcome(taints, tolerations))

    def events(self) -> tuple[Interest, ...]:
        return (
            Interest(NODE, Action.ADD | Action.UPDATE_NODE_TAINT, self.opened),
            Interest(POD, Action.UPDATE_POD_TOLERATION, tolerations_changed),
        )

    def opened(self, pod: Pod, old: Node | None, new: Node) -> Hint:
        """The pod tolerates the node now, and did not before."""
        tolerations = pod.spec.tolerations
        was_kept_off = old is None or self._kept_off(old.spec.taints, tolerations)
        return Hint.QUEUE if was_kept_off and not self._kept_off(new.spec.taints, tolerations) else Hint.SKIP

    def _kept_off(self, taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> bool:
        return first_untolerated(taints, tolerations, comparison_operators=self._comparisons) is not None

    def _unwelcome(self, taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> int:
        """How many taints that only advise against the node are not tolerated."""
        return sum(
            taint.effect == PREFER_NO_SCHEDULE
            and not any(tolerates(t, taint, comparison_operators=self._comparisons) for t in tolerations)
            for taint in taints
        )


def tolerations_changed(pod: Pod, old: Pod | None, new: Pod) -> Hint:
    return Hint.QUEUE if new.uid == pod.uid else Hint.SKIP
