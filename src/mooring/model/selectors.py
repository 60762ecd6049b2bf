"""Label selectors and node selectors: what they match, and what is wrong with them.

A selector is read into `Requirement`s, each of which judges one label value, so they can be judged
against a node, a pod, or once per distinct value of a column. What cannot be read raises
`SelectorError`; in a node selector only when no other term matches.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Mapping
from functools import lru_cache
from typing import Any, cast

import msgspec

from mooring.errors import MooringError
from mooring.model.names import is_label_value, is_qualified_name
from mooring.model.objects import (
    LabelSelector,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorTerm,
    PodSpec,
    PreferredSchedulingTerm,
)
from mooring.model.quantity import MAX_INT64

NODE_NAME_FIELD = "metadata.name"
LABEL_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")
NODE_OPERATORS = (*LABEL_OPERATORS, "Gt", "Lt")
FIELD_OPERATORS = ("In", "NotIn")

_PLAIN = frozenset({str, int, float, bool, type(None)})
_INTEGER = re.compile(r"[+-]?[0-9]+")
_LONGEST_INTEGER = 1000  # characters, leading zeros included


class SelectorError(MooringError, ValueError):
    """A selector that cannot be read."""


class Requirement(msgspec.Struct, frozen=True):
    """One condition on the value of one label (or of the node's name)."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def matches(self, value: str | None) -> bool:
        """Whether a value, or the absence of one, is what is wanted."""
        return requirement_matches(self.operator, self.values, value)


class LabelConditions:
    """Requirements of a label selector, put together by key: judging labels costs what the labels cost."""

    __slots__ = ("_needed", "_unwanted", "_wanted")

    def __init__(self, requirements: Iterable[Requirement]) -> None:
        self._needed: dict[str, None] = {}  # keys that have to be there
        self._wanted: dict[str, set[str]] = {}  # the values that a key may have
        self._unwanted: dict[str, set[str]] = {}  # and may not
        for each in requirements:
            key, operator = each.key, each.operator
            if operator in ("In", "Exists"):
                self._needed[key] = None
            if operator == "In":
                known = self._wanted.get(key)
                self._wanted[key] = set(each.values) if known is None else known & each.values
            elif operator == "NotIn":
                self._unwanted.setdefault(key, set()).update(each.values)
            elif operator == "DoesNotExist":
                self._wanted[key] = set()

    def match(self, labels: Mapping[str, str]) -> bool:
        for key in self._needed:  # ends at the latest when the labels do
            if key not in labels:
                return False
        return _all_among(self._wanted, labels, True) and _all_among(self._unwanted, labels, False)


def _all_among(values: Mapping[str, Collection[str]], labels: Mapping[str, str], wanted: bool) -> bool:
    """Whether the labels that values are given for are all among them, or all not. Goes through the fewer."""
    for key in values if len(values) < len(labels) else labels:
        if key in labels and key in values and (labels[key] in values[key]) is not wanted:
            return False
    return True


class NodeTerm(msgspec.Struct, frozen=True):
    """A node selector term, read. One without any requirement matches nothing."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()

    def matches(self, name: str, labels: Mapping[str, str]) -> bool:
        if not self.labels and not self.fields:
            return False
        return _all_match(self.labels, labels) and all(r.matches(name) for r in self.fields)


def requirement_matches(operator: str, values: Collection[str], value: str | None) -> bool:
    """One operator on one value; None stands for an absent label."""
    match operator:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return value is not None and _compares(operator, value, values)
        case _:
            raise SelectorError(_unknown(operator, NODE_OPERATORS))


def label_requirements(selector: LabelSelector | None) -> tuple[Requirement, ...] | None:
    """A label selector, read: none of them matches everything; None matches nothing."""
    if selector is None:
        return None
    equal = (
        LabelSelectorRequirement(key=k, operator="In", values=(v,)) for k, v in selector.match_labels.items()
    )
    return tuple(_label_requirement(r, LABEL_OPERATORS) for r in (*equal, *selector.match_expressions))


def matches_labels(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """An empty selector matches everything, an absent one nothing."""
    requirements = label_requirements(selector)
    return requirements is not None and _all_match(requirements, labels)


@lru_cache(maxsize=1024)
def node_term(term: NodeSelectorTerm | None) -> NodeTerm:
    """A node selector term, read."""
    if term is None:
        return NodeTerm()
    return NodeTerm(
        labels=tuple(_label_requirement(r, NODE_OPERATORS) for r in term.match_expressions),
        fields=tuple(map(_field_requirement, term.match_fields)),
    )


def node_term_matches(term: NodeSelectorTerm | None, name: str, labels: Mapping[str, str]) -> bool:
    """All requirements of the term hold; an absent or empty term never does."""
    return node_term(term).matches(name, labels)


def node_selector_matches(selector: NodeSelector | None, name: str, labels: Mapping[str, str]) -> bool:
    """Some term matches. Without a selector every node does; with an empty list of terms none does.

    The mistakes of terms that cannot be read are raised only when no other term matches.
    """
    if selector is None:
        return True
    mistakes = []
    for index, term in enumerate(selector.node_selector_terms):
        try:
            if node_term_matches(term, name, labels):
                return True
        except SelectorError as error:
            mistakes.append(f"nodeSelectorTerms[{index}]: {error}")
    if mistakes:
        raise SelectorError("; ".join(mistakes))
    return False


def required_node_affinity_matches(spec: PodSpec, name: str, labels: Mapping[str, str]) -> bool:
    """Both the pod's nodeSelector and its required node affinity accept the node."""
    if any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    affinity = spec.affinity.node_affinity if spec.affinity else None
    if affinity is None:
        return True
    return node_selector_matches(affinity.required_during_scheduling_ignored_during_execution, name, labels)


def preferred_terms(terms: Iterable[PreferredSchedulingTerm]) -> tuple[tuple[int, NodeTerm], ...]:
    """Weights and terms, read; those of weight 0 and empty ones count for nothing and are left out."""
    return tuple(
        (t.weight, node_term(t.preference)) for t in terms if t.weight and not _is_empty(t.preference)
    )


def int64(text: str) -> int | None:
    """A decimal 64-bit integer, or None for anything else."""
    if len(text) > _LONGEST_INTEGER or not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -MAX_INT64 - 1 <= number <= MAX_INT64 else None


def canonical(value: Any) -> Hashable:
    """A hashable form: the same for equal Structs whatever the order of their mappings."""
    kind = type(value)
    if kind in _PLAIN:
        return cast(Hashable, value)
    if isinstance(value, msgspec.Struct):
        return (kind.__name__, *map(canonical, msgspec.structs.astuple(value)))
    if isinstance(value, Mapping):
        return ("{}", *((key, canonical(value[key])) for key in sorted(value)))
    return tuple(map(canonical, value))


def _all_match(requirements: Iterable[Requirement], labels: Mapping[str, str]) -> bool:
    for r in requirements:  # noqa: SIM110 - quicker than `all`, and asked very often
        if not requirement_matches(r.operator, r.values, labels.get(r.key)):
            return False
    return True


def _is_empty(term: NodeSelectorTerm) -> bool:
    return not term.match_expressions and not term.match_fields


def _compares(operator: str, value: str, values: Collection[str]) -> bool:
    bound = int64(next(iter(values), ""))
    found = int64(value)
    if found is None or bound is None:
        return False
    return found > bound if operator == "Gt" else found < bound


@lru_cache(maxsize=2048)
def _label_requirement(wire: LabelSelectorRequirement, operators: tuple[str, ...]) -> Requirement:
    if not is_qualified_name(wire.key):
        raise SelectorError(f'"{wire.key}" is not a label key')
    mistake = _mistake(wire.operator, wire.values, operators)
    if mistake:
        raise SelectorError(f'label "{wire.key}": {mistake}')
    return Requirement(wire.key, wire.operator, frozenset(wire.values))


def _mistake(operator: str, values: tuple[str, ...], operators: tuple[str, ...]) -> str | None:
    if operator not in operators:
        return _unknown(operator, operators)
    if operator in ("In", "NotIn") and not values:
        return f"operator {operator} needs at least one value"
    if operator in ("Exists", "DoesNotExist") and values:
        return f"operator {operator} takes no values"
    if operator in ("Gt", "Lt") and (len(values) != 1 or int64(values[0]) is None):
        return f"operator {operator} takes exactly one value, an integer"
    bad = next((value for value in values if not is_label_value(value)), None)
    return None if bad is None else f'"{bad}" is not a label value'


def _field_requirement(wire: LabelSelectorRequirement) -> Requirement:
    if wire.key != NODE_NAME_FIELD:
        raise SelectorError(f'matchFields knows the field {NODE_NAME_FIELD} only, not "{wire.key}"')
    if wire.operator not in FIELD_OPERATORS:
        raise SelectorError(f"field {wire.key}: {_unknown(wire.operator, FIELD_OPERATORS)}")
    if len(wire.values) != 1:
        raise SelectorError(f"field {wire.key}: operator {wire.operator} takes exactly one value")
    return Requirement(wire.key, wire.operator, frozenset(wire.values))


def _unknown(operator: str, operators: tuple[str, ...]) -> str:
    return f'there is no operator "{operator}"; use {", ".join(operators[:-1])} or {operators[-1]}'
