"""PodTopologySpread: keeps the pods of a workload apart, by zone, host or any other label of nodes."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Literal

import msgspec

from mooring.cluster.row_counts import RowCounts
from mooring.errors import ArgsError, FieldMistake
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.domain import DomainPlugin
from mooring.framework.api.events import NODE, POD, Action, Hint, Interest
from mooring.framework.api.handle import Handle
from mooring.framework.api.normalize import MAX_SCORE
from mooring.framework.api.plugin import PluginArgs
from mooring.framework.api.status import Status, error
from mooring.model.objects import Node, Pod, TopologySpreadConstraint
from mooring.model.selectors import canonical
from mooring.plugins.kept import Sign
from mooring.plugins.topology.constraints import (
    HARD,
    IGNORED,
    SOFT,
    SYSTEM_DEFAULTS,
    Constraint,
    default_constraints,
    mistake_in,
    own_constraints,
)
from mooring.plugins.topology.matching import Matcher
from mooring.plugins.topology.members import Memberships
from mooring.plugins.topology.spread_state import SpreadState

REMEMBERED = 1024  # pods' constraints

DEFAULTS = "defaultConstraints"
LISTED = ("Service", "ReplicaSet", "ReplicationController", "StatefulSet")


class PodTopologySpreadArgs(PluginArgs, frozen=True):
    """`defaultConstraints` hold for pods without constraints, when `defaultingType` is List."""

    default_constraints: tuple[TopologySpreadConstraint, ...] = ()
    defaulting_type: Literal["System", "List"] = "System"

    def __post_init__(self) -> None:
        if self.default_constraints and self.defaulting_type == "System":
            what = f"{DEFAULTS}: when defaultingType is System, must be empty"
            raise ArgsError([FieldMistake((DEFAULTS,), what, beside=("defaultingType",))])
        seen: set[tuple[str, str]] = set()
        mistakes = []
        for number, one in enumerate(self.default_constraints):
            for field, what in _wrong_with(one):
                mistakes.append(FieldMistake((DEFAULTS, number, field), f"{DEFAULTS}: {what}"))
            if (one.topology_key, one.when_unsatisfiable) in seen:
                what = f"{DEFAULTS}: {one.topology_key} is given twice"
                mistakes.append(FieldMistake((DEFAULTS, number), what))
            seen.add((one.topology_key, one.when_unsatisfiable))
        ArgsError.unless_right(mistakes)


def _wrong_with(one: TopologySpreadConstraint) -> Iterator[tuple[str, str]]:
    """Fields of a default constraint that make no sense, and why."""
    if one.max_skew <= 0:
        yield "maxSkew", f"maxSkew {one.max_skew} must be greater than zero"
    if not one.topology_key:
        yield "topologyKey", "topologyKey can not be empty"
    if one.when_unsatisfiable not in (HARD, SOFT):
        yield "whenUnsatisfiable", f'whenUnsatisfiable "{one.when_unsatisfiable}" must be {HARD} or {SOFT}'
    if one.label_selector is not None:
        yield "labelSelector", "constraint must not define a selector"


class Known(msgspec.Struct, eq=False):
    """The constraints of pods like this one, and their signature."""

    pod: Pod
    constraints: tuple[Constraint, ...]
    mistake: str = ""  # in a selector of theirs
    own: Sign | None = None  # what of the signature stays the same
    sign: Hashable = None
    signed_at: int = -1  # the version of the nodes it goes with


class PodTopologySpread(DomainPlugin):
    name = "PodTopologySpread"
    Args = PodTopologySpreadArgs
    reads = LISTED

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._comparisons = handle.gates.enabled("TaintTolerationComparisonOperators")
        self._system = args.defaulting_type == "System"
        self._defaults = SYSTEM_DEFAULTS if self._system else args.default_constraints
        self._known: dict[Hashable, Known] = {}
        self._last: tuple[Pod, Known] | None = None  # a pod is asked about several times in a row
        self._listers = [handle.lister(kind) for kind in LISTED]
        self._version = -1

    def sign(self, pod: Pod) -> Hashable:
        known = self._known_of(pod)
        if known is None or not known.constraints:
            return None
        if known.signed_at != (version := self.handle.nodes_version):
            if known.own is None:
                known.own = Sign(self._own_sign(pod, known.constraints))
            unique = self.handle.unique_label
            known.sign = known.own, tuple([unique(c.key) for c in known.constraints]), known.mistake
            known.signed_at = version
        return known.sign

    def _own_sign(self, pod: Pod, constraints: tuple[Constraint, ...]) -> Hashable:
        """What does not change as long as the constraints are the same."""
        for constraint in constraints:  # known before the pod's class is: it says which selectors match
            if not mistake_in((constraint,), pod):
                self._counts(constraint, pod.namespace)
        spec = pod.spec
        affinity = spec.affinity.node_affinity if spec.affinity else None
        honors_affinity = any(c.honors_affinity for c in constraints)
        return (
            pod.namespace,
            tuple(c.sign() for c in constraints),
            tuple(c.selects(pod.labels) for c in constraints if c.hard),
            (canonical(affinity), canonical(spec.node_selector)) if honors_affinity else None,
            canonical(spec.tolerations) if any(c.honors_taints for c in constraints) else None,
            bool(spec.topology_spread_constraints),
        )

    def pre_filters(self, sign: Any) -> bool:
        return bool(sign[2])  # a mistake

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Status | None:
        known = self._known_of(pod)
        return error(known.mistake) if known is not None and known.mistake else None

    def domain(self, cycle: Cycle, pod: Pod) -> SpreadState:
        constraints = self._constraints(pod)
        return SpreadState(
            pod,
            constraints,
            lambda constraint: self._counts(constraint, pod.namespace),
            {c.key: self.handle.unique_label(c.key) for c in constraints},
            self.handle.cluster.shared(Memberships),
            needs_all_keys=bool(pod.spec.topology_spread_constraints) or not self._system,
            comparisons=self._comparisons,
        )

    @staticmethod
    def normalize(values: Sequence[int]) -> list[int]:
        """The fewer pods the better; nodes that are ignored get nothing."""
        counted = [value for value in values if value != IGNORED]
        if not counted:
            return [0] * len(values)
        low, high = min(counted), max(counted)
        if high == 0:
            return [0 if value == IGNORED else MAX_SCORE for value in values]
        return [0 if value == IGNORED else MAX_SCORE * (high + low - value) // high for value in values]

    def _constraints(self, pod: Pod) -> tuple[Constraint, ...]:
        """A pod's own constraints or the defaults."""
        known = self._known_of(pod)
        return () if known is None else known.constraints

    def _known_of(self, pod: Pod) -> Known | None:
        """Remembered until a Service or a workload changes; None when there cannot be any constraints."""
        if not pod.spec.topology_spread_constraints:
            meta = pod.metadata
            if not self._defaults or not (meta.labels or meta.owner_references):
                return None  # nothing can select a pod without labels
        services, replica_sets, controllers, stateful_sets = self._listers
        version = services.version + replica_sets.version + controllers.version + stateful_sets.version
        if version != self._version:
            self._version, self._last = version, None
            self._known.clear()
        last = self._last
        if last is None or last[0] is not pod:
            last = self._last = (pod, self._found_for(pod))
        return last[1]

    def _found_for(self, pod: Pod) -> Known:
        meta = pod.metadata
        owners = [(o.kind, o.name) for o in meta.owner_references if o.controller]
        key = (id(pod.spec), meta.namespace, *owners, *meta.labels.items())
        known = self._known.get(key)
        if known is None or known.pod.spec is not pod.spec:
            if len(self._known) > REMEMBERED:
                self._known.clear()
            constraints = self._worked_out(pod)
            known = self._known[key] = Known(pod, constraints, mistake_in(constraints, pod))
        return known

    def _worked_out(self, pod: Pod) -> tuple[Constraint, ...]:
        if pod.spec.topology_spread_constraints:
            return own_constraints(pod)
        return default_constraints(pod, self._defaults, self.handle)

    def _counts(self, constraint: Constraint, namespace: str) -> RowCounts:
        if not constraint.counts_pods:
            return RowCounts()
        key = ("spread", namespace, canonical(constraint.selector))
        matches = Matcher(constraint.selector)
        return self.handle.counts.selector(
            key, lambda other, labels: other == namespace and matches(labels), matches.needs, staying=True
        )

    def events(self) -> list[Interest]:
        pods = Action.ADD | Action.DELETE | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION
        nodes = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
        return [Interest(POD, pods, self._pod_hint), Interest(NODE, nodes, self._node_hint)]

    def _pod_hint(self, pod: Pod, old: Pod | None, new: Pod | None) -> Hint:
        """A pod of the same namespace came, went, or is selected differently now; or the pod itself
        tolerates more, and with that more nodes count."""
        changed = new or old
        assert changed is not None
        mine = changed.uid == pod.uid
        placed = changed.spec.node_name or changed.status.nominated_node_name
        if changed.namespace != pod.namespace or not (mine or placed):
            return Hint.SKIP
        constraints = [c for c in self._constraints(pod) if c.hard]
        if old is not None and new is not None:
            tolerates_more = mine and old.spec.tolerations != new.spec.tolerations
            if tolerates_more and any(c.honors_taints for c in constraints):
                return Hint.QUEUE
            moved = any(c.selects(old.labels) != c.selects(new.labels) for c in constraints)
            return Hint.QUEUE if moved else Hint.SKIP
        return Hint.QUEUE if any(c.selects(changed.labels) for c in constraints) else Hint.SKIP

    def _node_hint(self, pod: Pod, old: Node | None, new: Node | None) -> Hint:
        """A node that has all keys came or went, or its keys or taints are different now."""
        constraints = [c for c in self._constraints(pod) if c.hard]
        has = [node is not None and all(c.key in node.labels for c in constraints) for node in (old, new)]
        if old is not None and new is not None:
            moved = any(old.labels.get(c.key) != new.labels.get(c.key) for c in constraints)
            different = moved or old.spec.taints != new.spec.taints
            return Hint.QUEUE if has[0] != has[1] or (has[1] and different) else Hint.SKIP
        return Hint.QUEUE if any(has) else Hint.SKIP
