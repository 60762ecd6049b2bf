"""The nodes a pod's node selector and node affinity ask for, read once per pod spec."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from mooring.model.objects import NodeAffinity, NodeSelectorTerm, PodSpec
from mooring.model.selectors import NODE_NAME_FIELD, NodeTerm, SelectorError, node_term, preferred_terms
from mooring.plugins.node_terms import AnyTerm

Terms = tuple[NodeTerm, ...]
Weighed = tuple[tuple[int, NodeTerm], ...]  # preferred terms with their weights

NOTHING = NodeAffinity()


class WantedNodes(msgspec.Struct, frozen=True):
    """`names` are those `pre_filter` narrows down to, None when every node may be looked at.

    Terms without any requirement, and terms that cannot be read, match nothing and are left out.
    """

    labels: tuple[tuple[str, str], ...] = ()  # the node selector
    terms: Terms | None = None  # None: no term has to match
    names: frozenset[str] | None = None
    left_to_narrowing: bool = False  # the names do not stand in the terms
    preferred: Weighed = ()
    mistake: str = ""  # in the preferred terms
    unread: bool = False  # some required term cannot be read
    any_term: AnyTerm | None = None  # the terms, to be asked

    @property
    def requires(self) -> bool:
        return bool(self.labels) or self.terms is not None or self.names is not None

    @property
    def prefers(self) -> bool:
        return bool(self.preferred or self.mistake)

    def accepts(self, name: str, labels: Mapping[str, str]) -> bool | None:
        """Whether a node will do; None when only a term that cannot be read could say so."""
        for key, value in self.labels:
            if labels.get(key) != value:
                return False
        if self.left_to_narrowing and name not in (self.names or ()):
            return False
        if self.any_term is None or self.any_term.matches(name, labels):
            return True
        return None if self.unread else False

    def __bool__(self) -> bool:
        return self.requires or self.prefers


def wanted_nodes(spec: PodSpec) -> WantedNodes:
    affinity = (spec.affinity.node_affinity if spec.affinity else None) or NOTHING
    required = affinity.required_during_scheduling_ignored_during_execution
    terms, names, left, unread = None, None, False, False
    if required is not None:
        names = pinned_names(required.node_selector_terms)
        terms, unread = read_terms(required.node_selector_terms)
        if names and len(terms) == len(required.node_selector_terms) and _agree(terms, names):
            terms, left = _without_names(terms), True
    preferred, mistake = _preferred(affinity)
    labels = tuple(sorted(spec.node_selector.items()))
    asked = None if terms is None else AnyTerm(terms)
    return WantedNodes(labels, terms, names, left, preferred, mistake, unread, asked)


def pinned_names(terms: Iterable[NodeSelectorTerm | None]) -> frozenset[str] | None:
    """The nodes that terms name, when every one of them names some; None when one leaves it open."""
    names: frozenset[str] | None = None
    for term in terms:
        pins = [
            frozenset(field.values)
            for field in (term.match_fields if term else ())
            if field.key == NODE_NAME_FIELD and field.operator == "In"
        ]
        if not pins:
            return None
        names = (names or frozenset()) | frozenset.intersection(*pins)
    return names


def readable_terms(terms: Iterable[NodeSelectorTerm | None]) -> Terms:
    return read_terms(terms)[0]


def read_terms(terms: Iterable[NodeSelectorTerm | None]) -> tuple[Terms, bool]:
    """The terms that can be read and ask for something; whether there are others that cannot."""
    found, unread = [], False
    for term in terms:
        try:
            read = node_term(term)
        except SelectorError:
            unread = True
            continue
        if read.labels or read.fields:
            found.append(read)
    return tuple(found), unread


def _agree(terms: Terms, names: frozenset[str]) -> bool:
    """Each term alone names all of the names, and no other."""
    return all(pin.values == names for term in terms for pin in term.fields if pin.operator == "In")


def _without_names(terms: Terms) -> Terms | None:
    stripped = [NodeTerm(term.labels, tuple(f for f in term.fields if f.operator != "In")) for term in terms]
    # A term that asks for nothing else holds wherever the names allow, and with it all of them.
    return None if any(not term.labels and not term.fields for term in stripped) else tuple(stripped)


def _preferred(affinity: NodeAffinity) -> tuple[Weighed, str]:
    try:
        return preferred_terms(affinity.preferred_during_scheduling_ignored_during_execution), ""
    except SelectorError as mistake:
        return (), str(mistake)
