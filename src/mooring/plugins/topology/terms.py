"""Affinity and anti-affinity terms of pods, ready to be matched and counted."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from mooring.model.objects import LabelSelector, LabelSelectorRequirement, Pod, PodAffinity, PodAffinityTerm
from mooring.model.selectors import SelectorError, canonical, matches_labels
from mooring.plugins.topology.matching import Matcher

NOBODY = Matcher(None)

NamespaceLabels = Callable[[str], Mapping[str, str]]


class Term:
    """One term. Two terms that ask the same are equal, whoever carries them."""

    __slots__ = (
        "_hash",
        "_matcher",
        "_namespace_labels",
        "_namespace_selector",
        "_namespaces",
        "_selector",
        "ident",
        "key",
        "mistake",
        "needs",
    )

    def __init__(self, term: PodAffinityTerm, owner: Pod, namespace_labels: NamespaceLabels) -> None:
        everywhere = term.namespace_selector is not None
        self.key = term.topology_key
        self._namespaces = frozenset(term.namespaces or (() if everywhere else (owner.namespace,)))
        self._namespace_selector = term.namespace_selector
        self._selector = _with_own_values(term, owner)
        self._namespace_labels = namespace_labels
        self.ident = (
            self.key,
            self._namespaces,
            canonical(self._namespace_selector),
            canonical(self._selector),
        )
        self._hash = hash(self.ident)
        self.mistake = ""  # in its selectors; such a term means nobody
        self._matcher = NOBODY
        try:
            self._matcher = Matcher(self._selector)
            Matcher(self._namespace_selector)
        except SelectorError as error:
            self.mistake = str(error)
        self.needs = self._matcher.needs  # a label that all it means have

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Term) and self.ident == other.ident

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Whether a pod of this namespace and these labels is meant."""
        if self.mistake:
            return False
        inside = namespace in self._namespaces
        if not inside and self._namespace_selector is not None:
            inside = matches_labels(self._namespace_selector, self._namespace_labels(namespace))
        return inside and self._matcher(labels)

    def matches_pod(self, pod: Pod) -> bool:
        return self.matches(pod.namespace, pod.labels)


class Weighted(msgspec.Struct, frozen=True):
    """A term with its weight: negative for anti-affinity."""

    weight: int
    term: Term


class Terms(msgspec.Struct, frozen=True):
    """All terms of a pod."""

    affinity: tuple[Term, ...] = ()
    anti_affinity: tuple[Term, ...] = ()
    preferred: tuple[Weighted, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.affinity or self.anti_affinity or self.preferred)

    @classmethod
    def of(cls, pod: Pod, namespace_labels: NamespaceLabels) -> Terms:
        affinity = pod.spec.affinity
        if affinity is None or not (affinity.pod_affinity or affinity.pod_anti_affinity):
            return NO_TERMS
        towards, away = affinity.pod_affinity or PodAffinity(), affinity.pod_anti_affinity or PodAffinity()

        def required(given: PodAffinity) -> tuple[Term, ...]:
            terms = given.required_during_scheduling_ignored_during_execution
            return tuple(Term(term, pod, namespace_labels) for term in terms)

        def preferred(given: PodAffinity, sign: int) -> tuple[Weighted, ...]:
            terms = given.preferred_during_scheduling_ignored_during_execution
            return tuple(
                Weighted(sign * w.weight, Term(w.pod_affinity_term, pod, namespace_labels)) for w in terms
            )

        return cls(required(towards), required(away), preferred(towards, 1) + preferred(away, -1))

    def all(self) -> tuple[Term, ...]:
        return (*self.affinity, *self.anti_affinity, *(weighted.term for weighted in self.preferred))


NO_TERMS = Terms()


def _with_own_values(term: PodAffinityTerm, owner: Pod) -> LabelSelector | None:
    """The selector narrowed by (mis)matchLabelKeys, as the API server narrows it."""
    selector = term.label_selector
    if selector is None or not (term.match_label_keys or term.mismatch_label_keys):
        return selector
    own = tuple(
        LabelSelectorRequirement(key=key, operator=operator, values=(owner.labels[key],))
        for operator, keys in (("In", term.match_label_keys), ("NotIn", term.mismatch_label_keys))
        for key in keys
        if key in owner.labels
    )
    missing = tuple(one for one in own if one not in selector.match_expressions)
    return msgspec.structs.replace(selector, match_expressions=selector.match_expressions + missing)
