"""Node terms over all nodes at once. What a term asks of a label is looked up, never tried on every value; a
label that no node has costs nothing, and many terms that ask for one label each cost as much as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain

import numpy as np

from mooring.cluster.column import Ints
from mooring.cluster.columns import Bools, StaticColumns
from mooring.model.selectors import NodeTerm, Requirement, int64

NEED_THE_LABEL = frozenset({"In", "Exists", "Gt", "Lt"})

Answer = Bools | bool  # for each of the nodes, or for all of them


class AnyTerm:
    """Terms of which one has to match. A term that needs a label is looked at only where the label is; values
    that terms ask for, and nothing else, are one set for each label."""

    __slots__ = ("_needing", "_others", "_values")

    def __init__(self, terms: Iterable[NodeTerm]) -> None:
        self._values: dict[str, set[str]] = {}
        self._needing: dict[str, list[NodeTerm]] = {}
        self._others: list[NodeTerm] = []
        for term in terms:
            if len(term.labels) == 1 and not term.fields and term.labels[0].operator == "In":
                self._values.setdefault(term.labels[0].key, set()).update(term.labels[0].values)
            elif (
                key := next((r.key for r in term.labels if r.operator in NEED_THE_LABEL), None)
            ) is not None:
                self._needing.setdefault(key, []).append(term)
            elif term.labels or term.fields:
                self._others.append(term)

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        values, needing = self._values, self._needing
        for key, value in labels.items():
            if key in values and value in values[key]:
                return True
            for term in needing.get(key, ()):
                if term.matches(name, labels):
                    return True
        return any(term.matches(name, labels) for term in self._others)

    def over(self, nodes: StaticColumns) -> Bools:
        """Nodes that some term matches."""
        matching, judge = np.zeros(len(nodes), np.bool_), TermJudge(nodes)
        for key, wanted in self._values.items():
            if nodes.known_label(key):
                matching |= nodes.with_label(key, wanted)
        known = (terms for key, terms in self._needing.items() if nodes.known_label(key))
        for term in chain(self._others, *known):
            matching |= judge.matching(term)
        return matching


def any_term(terms: Iterable[NodeTerm], nodes: StaticColumns) -> Bools:
    """Nodes that some term matches."""
    return AnyTerm(terms).over(nodes)


def weighed(terms: Iterable[tuple[int, NodeTerm]], nodes: StaticColumns) -> Ints:
    """The sum of the weights of the terms that match each node."""
    sums = np.zeros(len(nodes), np.int64)
    judge = TermJudge(nodes)
    for weight, term in terms:
        if (matching := judge.matching(term)) is not False:
            sums += weight * matching
    return sums


class TermJudge:
    """Says which nodes terms match. The numbers that a label has are read once."""

    def __init__(self, nodes: StaticColumns) -> None:
        self._nodes = nodes
        self._numbers: dict[str, tuple[Ints, Bools]] = {}

    def matching(self, term: NodeTerm) -> Answer:
        """Nodes that meet every requirement of a term."""
        all_met: Answer = True
        for requirement in term.labels:
            met = self._meeting(requirement)
            if met is False:
                return False
            all_met = met if all_met is True else all_met if met is True else all_met & met
        for requirement in term.fields:
            named = self._nodes.named(requirement.values)
            all_met = all_met & (named if requirement.operator == "In" else ~named)
        return all_met

    def _meeting(self, requirement: Requirement) -> Answer:
        nodes, key, operator = self._nodes, requirement.key, requirement.operator
        if not nodes.known_label(key):
            return requirement.matches(None)
        if operator in ("Gt", "Lt"):
            numbers, readable = self._numbers_of(key)
            bound = int64(next(iter(requirement.values))) or 0  # an integer, or it would not have been read
            return readable & (numbers > bound if operator == "Gt" else numbers < bound)
        found = nodes.with_label(key, requirement.values if operator in ("In", "NotIn") else None)
        return found if operator in ("In", "Exists") else ~found

    def _numbers_of(self, key: str) -> tuple[Ints, Bools]:
        """The integers that nodes have for a label, and where there is one."""
        known = self._numbers.get(key)
        if known is None:
            known = self._nodes.label_numbers(key, lambda value: None if value is None else int64(value))
            self._numbers[key] = known
        return known
