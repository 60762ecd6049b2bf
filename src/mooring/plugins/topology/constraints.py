"""Spread constraints of a pod: its own, or the defaults, with their selectors resolved."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping

import msgspec

from mooring.framework.api.handle import Handle
from mooring.model.objects import (
    LabelSelector,
    LabelSelectorRequirement,
    Object,
    Pod,
    TopologySpreadConstraint,
)
from mooring.model.plain import part, read
from mooring.model.selectors import SelectorError, canonical, matches_labels

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
HARD, SOFT = "DoNotSchedule", "ScheduleAnyway"
HONOR, IGNORE = "Honor", "Ignore"
IGNORED = -1  # the raw score of a node that lacks a key the pod's own constraints name
OWNERS = ("ReplicaSet", "ReplicationController", "StatefulSet")


class Constraint(msgspec.Struct, frozen=True):
    """One constraint, ready to be counted."""

    max_skew: int
    key: str
    hard: bool
    selector: LabelSelector | None
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False

    def selects(self, labels: Mapping[str, str]) -> bool:
        return matches_labels(self.selector, labels)

    @property
    def counts_pods(self) -> bool:
        """A selector that selects everything counts nobody; that is how kube-scheduler has it."""
        chosen = self.selector
        return chosen is not None and bool(chosen.match_labels or chosen.match_expressions)

    def sign(self) -> Hashable:
        return (
            self.max_skew, self.key, self.hard, canonical(self.selector), self.min_domains,
            self.honors_affinity, self.honors_taints,
        )  # fmt: skip


SYSTEM_DEFAULTS = (
    TopologySpreadConstraint(max_skew=3, topology_key=HOSTNAME, when_unsatisfiable=SOFT),
    TopologySpreadConstraint(max_skew=5, topology_key=ZONE, when_unsatisfiable=SOFT),
)


def own_constraints(pod: Pod) -> tuple[Constraint, ...]:
    """The constraints in a pod's spec; `matchLabelKeys` narrow the selector to the pod's own values."""
    return tuple(_resolved(one, _with_own_values(one, pod)) for one in pod.spec.topology_spread_constraints)


def default_constraints(
    pod: Pod, defaults: Iterable[TopologySpreadConstraint], handle: Handle
) -> tuple[Constraint, ...]:
    """The default constraints, for pods that a Service or a workload selects."""
    selector = default_selector(pod, handle)
    return () if selector is None else tuple(_resolved(one, selector) for one in defaults)


def default_selector(pod: Pod, handle: Handle) -> LabelSelector | None:
    """What the Services and the owner of a pod select, taken together; None when nothing does."""
    labels: dict[str, str] = {}
    for service in handle.lister("Service"):
        wanted = part(service.data, "spec", "selector")
        mine = service.metadata.namespace == pod.namespace
        if mine and wanted and all(pod.labels.get(k) == v for k, v in wanted.items()):
            labels.update(wanted)
    expressions: list[LabelSelectorRequirement] = []
    for owner in _owners(pod, handle):
        selector = _selector_of(owner)
        for key, value in selector.match_labels.items():
            if labels.setdefault(key, value) != value:  # both are asked for: nothing is selected
                expressions.append(LabelSelectorRequirement(key=key, operator="In", values=(value,)))
        expressions.extend(selector.match_expressions)
    if not labels and not expressions:
        return None
    return LabelSelector(match_labels=labels, match_expressions=tuple(expressions))


def _owners(pod: Pod, handle: Handle) -> Iterator[Object]:
    for reference in pod.metadata.owner_references:
        if reference.controller and reference.kind in OWNERS:
            owner = handle.lister(reference.kind).get(f"{pod.namespace}/{reference.name}")
            if owner is not None:
                yield owner


def _selector_of(owner: Object) -> LabelSelector:
    """A ReplicationController has plain labels, the others a selector."""
    found = part(owner.data, "spec", "selector")
    try:
        return read({"matchLabels": found} if owner.kind == "ReplicationController" else found, LabelSelector)
    except msgspec.ValidationError:
        return LabelSelector()  # nobody knows what it selects


def _with_own_values(one: TopologySpreadConstraint, pod: Pod) -> LabelSelector | None:
    if one.label_selector is None or not one.match_label_keys:
        return one.label_selector
    mine = tuple(
        LabelSelectorRequirement(key=key, operator="In", values=(pod.labels[key],))
        for key in one.match_label_keys
        if key in pod.labels
    )
    expressions = one.label_selector.match_expressions + mine
    return msgspec.structs.replace(one.label_selector, match_expressions=expressions)


def _resolved(one: TopologySpreadConstraint, selector: LabelSelector | None) -> Constraint:
    return Constraint(
        max_skew=one.max_skew,
        key=one.topology_key,
        hard=one.when_unsatisfiable == HARD,
        selector=selector,
        min_domains=one.min_domains or 1,
        honors_affinity=(one.node_affinity_policy or HONOR) == HONOR,
        honors_taints=(one.node_taints_policy or IGNORE) == HONOR,
    )


def mistake_in(constraints: Iterable[Constraint], pod: Pod) -> str:
    """What is wrong with a selector, if anything is."""
    for constraint in constraints:
        try:
            constraint.selects(pod.labels)
        except SelectorError as error:
            return str(error)
    return ""
