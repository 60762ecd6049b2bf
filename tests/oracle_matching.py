"""What selectors, tolerations and node affinity accept, for the slow and obvious scheduler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mooring.model.objects import (
    LabelSelectorRequirement,
    Node,
    NodeSelectorTerm,
    PodSpec,
    Taint,
    Toleration,
)


def tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    for toleration in tolerations:
        if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
            continue
        if toleration.operator == "Exists":
            return True
        if toleration.operator in ("", "Equal") and toleration.value == taint.value:
            return True
    return False


def wants(spec: PodSpec, node: Node) -> bool:
    """The node selector and the required affinity both accept the node."""
    for key, value in spec.node_selector.items():
        if node.labels.get(key) != value:
            return False
    terms = required_terms(spec)
    return terms is None or any(term_holds(term, node) for term in terms)


def required_terms(spec: PodSpec) -> tuple[NodeSelectorTerm | None, ...] | None:
    affinity = spec.affinity and spec.affinity.node_affinity
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    return required.node_selector_terms if required else None


def term_holds(term: NodeSelectorTerm | None, node: Node) -> bool:
    if term is None or not (term.match_expressions or term.match_fields):
        return False
    if not all(holds(r, node.labels) for r in term.match_expressions):
        return False
    return all(holds(r, {"metadata.name": node.name}) for r in term.match_fields)


def holds(requirement: LabelSelectorRequirement, labels: Mapping[str, str]) -> bool:
    value, values = labels.get(requirement.key), requirement.values
    match requirement.operator:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and value.isdigit() and int(value) > int(values[0])
        case "Lt":
            return value is not None and value.isdigit() and int(value) < int(values[0])
    raise AssertionError(requirement)
