"""Node terms over all nodes at once: many terms that ask for one label each cost as much as one."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from mooring.cluster.columns import Bools, StaticColumns
from mooring.model.selectors import NodeTerm


def any_term(terms: Iterable[NodeTerm], nodes: StaticColumns) -> Bools:
    """Nodes that some term matches."""
    matching = np.zeros(len(nodes), np.bool_)
    values: dict[str, set[str]] = {}
    for term in terms:
        if len(term.labels) == 1 and not term.fields and term.labels[0].operator == "In":
            values.setdefault(term.labels[0].key, set()).update(term.labels[0].values)
        elif term.labels or term.fields:
            matching |= one_term(term, nodes)
    for key, wanted in values.items():
        matching |= nodes.matching_label(key, wanted.__contains__)
    return matching


def one_term(term: NodeTerm, nodes: StaticColumns) -> Bools:
    """Nodes that a term matches."""
    matching = np.ones(len(nodes), np.bool_)
    for requirement in term.labels:
        matching &= nodes.matching_label(requirement.key, requirement.matches)
    for requirement in term.fields:
        named = nodes.named(requirement.values)
        matching &= named if requirement.operator == "In" else ~named
    return matching
