"""Which nodes take part in a spread constraint: the inclusion policies of kube-scheduler, by columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from mooring.cluster.columns import Bools, StaticColumns
from mooring.model.objects import PodSpec
from mooring.model.selectors import canonical, required_node_affinity_matches
from mooring.model.taints import first_untolerated
from mooring.plugins.kept import Sign
from mooring.plugins.node_terms import AnyTerm
from mooring.plugins.topology.constraints import Constraint
from mooring.plugins.topology.members import Members, Memberships
from mooring.plugins.wanted_nodes import read_terms


class Eligibility:
    """The domains of some constraints of a pod. `keys` are those a node must have to take part; constraints
    that honor the same share what is worked out. `comparisons` switches Gt and Lt of tolerations on."""

    def __init__(
        self, memberships: Memberships, spec: PodSpec, keys: Sequence[str], *, comparisons: bool
    ) -> None:
        self._memberships = memberships
        self._spec = spec
        self._keys = keys
        self._comparisons = comparisons
        self._known: dict[tuple[bool, bool], Eligible] = {}

    def members(self, constraint: Constraint) -> Members:
        honored = constraint.honors_affinity, constraint.honors_taints
        eligible = self._known.get(honored)
        if eligible is None:
            eligible = self._known[honored] = Eligible(self._spec, constraint, self._keys, self._comparisons)
        return self._memberships.of(constraint.key, eligible.ident, eligible)


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
        self._terms, self._unread = None, False
        if self._selective and required is not None:
            terms, self._unread = read_terms(required.node_selector_terms)
            self._terms = AnyTerm(terms)
        self._taints = constraint.honors_taints
        self.ident: Hashable = Sign(
            (
                self._keys,
                (canonical(required), canonical(spec.node_selector)) if self._selective else None,
                (canonical(spec.tolerations), comparisons) if self._taints else None,
            )
        )

    def __call__(self, nodes: StaticColumns) -> Bools:
        ok = nodes.alive.copy()
        for key in self._keys:
            if not nodes.known_label(key):
                return np.zeros(len(nodes), np.bool_)
            ok &= nodes.with_label(key)
        if self._selective:
            ok = self._selected(nodes, ok)
        if self._taints:
            ok &= nodes.by_taints(self._tolerated) != 0
        return ok

    def _selected(self, nodes: StaticColumns, among: Bools) -> Bools:
        for key, value in self._spec.node_selector.items():
            if not nodes.known_label(key):
                return np.zeros(len(nodes), np.bool_)
            among &= nodes.with_label(key, (value,))
        if self._terms is None:
            return among
        found = among & self._terms.over(nodes)
        if self._unread and (among & ~found).any():  # a mistake matters where nothing else holds
            node = nodes.at_row(int(nodes.rows[np.flatnonzero(among & ~found)[0]]))
            required_node_affinity_matches(self._spec, node.name, node.labels)  # raises
        return found

    def _tolerated(self, taints: tuple[object, ...]) -> bool:
        tolerations = self._spec.tolerations
        untolerated = first_untolerated(taints, tolerations, comparison_operators=self._comparisons)  # type: ignore[arg-type]
        return untolerated is None
