"""Which nodes take part in a spread constraint: the inclusion policies of kube-scheduler, by columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from operator import eq, is_not

import numpy as np

from mooring.cluster.columns import Bools, StaticColumns
from mooring.model.objects import NodeSelector, PodSpec
from mooring.model.selectors import (
    NodeTerm,
    SelectorError,
    canonical,
    node_term,
    required_node_affinity_matches,
)
from mooring.model.taints import first_untolerated
from mooring.plugins.node_terms import any_term
from mooring.plugins.topology.constraints import Constraint
from mooring.plugins.topology.members import Members, Memberships


def members_of(
    memberships: Memberships, spec: PodSpec, constraint: Constraint, keys: Sequence[str], comparisons: bool
) -> Members:
    """The domains of a constraint. `keys` are those a node must have to take part; `comparisons` switches
    Gt and Lt of tolerations on."""
    eligible = Eligible(spec, constraint, keys, comparisons)
    return memberships.of(constraint.key, eligible.ident, eligible)


class Eligible:
    """Nodes that have all keys, that the pod may go to by its labels, and whose taints it tolerates, as far
    as the constraint honors these."""

    def __init__(self, spec: PodSpec, constraint: Constraint, keys: Sequence[str], comparisons: bool) -> None:
        self._spec = spec
        self._keys = tuple(sorted(set(keys)))
        self._comparisons = comparisons
        affinity = spec.affinity.node_affinity if spec.affinity else None
        required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
        self._selective = constraint.honors_affinity and bool(spec.node_selector or required)
        self._required = required if self._selective else None
        self._taints = constraint.honors_taints
        self.ident: Hashable = (
            self._keys,
            (canonical(self._required), canonical(spec.node_selector)) if self._selective else None,
            (canonical(spec.tolerations), comparisons) if self._taints else None,
        )

    def __call__(self, nodes: StaticColumns) -> Bools:
        ok = nodes.alive.copy()
        for key in self._keys:
            ok &= nodes.matching_label(key, partial(is_not, None))
        if self._selective:
            ok = self._selected(nodes, ok)
        if self._taints:
            ok &= nodes.by_taints(self._tolerated) != 0
        return ok

    def _selected(self, nodes: StaticColumns, among: Bools) -> Bools:
        terms = _read(self._required)
        if terms is None:  # node by node it comes out whether the mistake matters
            rows = zip(nodes.rows.tolist(), among.tolist(), strict=True)
            return np.array([asked and self._matches(nodes, row) for row, asked in rows], np.bool_)
        for key, value in self._spec.node_selector.items():
            among &= nodes.matching_label(key, partial(eq, value))
        return among if self._required is None else among & any_term(terms, nodes)

    def _matches(self, nodes: StaticColumns, row: int) -> bool:
        node = nodes.at_row(row)
        return required_node_affinity_matches(self._spec, node.name, node.labels)

    def _tolerated(self, taints: tuple[object, ...]) -> bool:
        tolerations = self._spec.tolerations
        untolerated = first_untolerated(taints, tolerations, comparison_operators=self._comparisons)  # type: ignore[arg-type]
        return untolerated is None


def _read(required: NodeSelector | None) -> list[NodeTerm] | None:
    """The terms; None when one of them cannot be read."""
    try:
        return [node_term(term) for term in required.node_selector_terms] if required else []
    except SelectorError:
        return None
