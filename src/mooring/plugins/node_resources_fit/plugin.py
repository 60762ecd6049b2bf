"""NodeResourcesFit: the filter, the score, and what is kept of a pod for both."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache

import msgspec
import numpy as np

from mooring.cluster.column import Column, Ints
from mooring.cluster.columns import Bools, NodeColumns
from mooring.cluster.nodes import MOST_TAKEN, NodeTable
from mooring.cluster.view import NodeView
from mooring.framework.api.answers import Rejections, failed
from mooring.framework.api.capacity import INSUFFICIENT, TOO_MANY_PODS
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import NODE, POD, Action, Hint, Interest
from mooring.framework.api.handle import Handle
from mooring.framework.api.plugin import Plugin, nothing_to_do, reads_spec_only
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Status, unresolvable, unschedulable
from mooring.model.names import is_extended_resource
from mooring.model.objects import Node, Pod, PodSpec
from mooring.model.requests import Allocatable, bound_request, node_allocatable, pod_request
from mooring.plugins.kept import PerSpec, PerTable
from mooring.plugins.node_resources_fit.args import FitArgs
from mooring.plugins.node_resources_fit.columns import Amounts, FitColumns
from mooring.plugins.node_resources_fit.combinations import Combinations
from mooring.plugins.node_resources_fit.strategies import NO_RESOURCES, Ask, Use, strategy_of
from mooring.plugins.scored_resources import bypasses, supposed_amount

NAME = "NodeResourcesFit"

Need = tuple[int, Column, Column, str]  # amount, allocatable, requested, resource


class Kept(msgspec.Struct, frozen=True, eq=False):
    """A pod's requests beside the columns of the resources, for the filter and for the score."""

    needs: tuple[Need, ...]
    asks: tuple[Ask, ...]
    room: tuple[tuple[int, memoryview, memoryview], ...]  # amount, what there is, what is taken


class NodeResourcesFit(Plugin):
    name = NAME
    scope = Scope.ROW
    Args = FitArgs
    amounts_only = True

    def __init__(self, args: FitArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._ignored = frozenset(args.ignored_resources)
        self._ignored_groups = frozenset(args.ignored_resource_groups)
        self.strategy = strategy_of(args.scoring_strategy)
        self._needs = PerSpec(self._needed).of
        self._supposed = PerSpec(self._supposedly_needed).of
        self._kept = PerTable(self._keep)

    @reads_spec_only
    def sign(self, pod: Pod) -> Hashable:
        return self._needs(pod.spec), self._supposed(pod.spec)

    @nothing_to_do
    def pre_filter(self, cycle: Cycle, pod: Pod) -> None:
        """Nothing to prepare."""

    def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> Status | None:
        table, row = node._nodes, node.row
        if self.has_room(pod.spec, table, row):
            return None
        needs = self._kept.of(pod.spec, table).needs
        if table.pods.at[row] >= table.max_pods.at[row]:
            return _rejection(needs, row, TOO_MANY_PODS)
        return _rejection(needs, row)

    def has_room(self, spec: PodSpec, table: NodeTable, row: int) -> bool:
        """Whether a pod fits there: all that is asked about a place before it is taken."""
        kept = self._kept
        if kept.spec is spec and kept.layout is table.layout:
            room = kept.value.room
        else:
            room = kept.of(spec, table).room
        for amount, has, taken in room:  # noqa: SIM110 - quicker than `all`, and every pod comes by
            if amount > has[row] - taken[row]:
                return False
        return True

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Bools:
        fits = nodes.pod_count < nodes.max_pods
        for name, amount in self._needs(pod.spec):
            fits &= nodes.free(name) >= amount
        return fits

    def statuses_of(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Rejections:
        """What `filter` says of nodes it rejects: worked out once per combination of reasons."""
        needs = self._needs(pod.spec)
        combinations = Combinations(len(nodes), len(needs) + 2)
        combinations.put(1, nodes.pod_count >= nodes.max_pods)
        hopeless = np.zeros(len(nodes), np.bool_)
        names = ["", TOO_MANY_PODS]
        for number, (name, amount) in enumerate(needs, start=2):
            lacks = amount > nodes.free(name)
            combinations.put(number, lacks)
            hopeless |= lacks & ((amount > nodes.allocatable(name)) | (nodes.requested(name) >= MOST_TAKEN))
            names.append(name)
        combinations.put(0, hopeless)
        found, which = combinations.distinct()
        statuses = [_status(tuple([names[n] for n in each if n]), 0 in each[:1]) for each in found]
        return Rejections(tuple(statuses), which)

    @nothing_to_do
    def pre_score(self, cycle: Cycle, pod: Pod, nodes: object) -> None:
        """Nothing to prepare."""

    def score(self, cycle: Cycle, pod: Pod, node: NodeView) -> int:
        kept = self._kept
        if kept.spec is pod.spec and kept.layout is node._nodes.layout:
            asks = kept.value.asks
        else:
            asks = kept.of(pod.spec, node._nodes).asks
        return self.strategy.one(asks, node.row)

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Ints:
        weights = dict(self.strategy.resources)
        uses = []
        for name, amount in self._supposed(pod.spec):
            used, divisor = nodes.requested_nonzero(name) + amount, nodes.divisor(name)
            uses.append(Use(weights[name], used, nodes.allocatable(name), divisor, *nodes.extent(name)))
        return self.strategy.many(uses, len(nodes))

    def pod_columns(self) -> FitColumns | None:
        """None when the score skips resources of which some pods ask for nothing."""
        resources = self.strategy.resources
        if not resources or any(bypasses(name, 0) for name, _ in resources):
            return None
        return FitColumns(self.strategy, self._needs, self._supposed)

    def events(self) -> tuple[Interest, ...]:
        return (
            Interest(POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN, self.room_freed),
            Interest(NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, self.node_grew),
        )

    def room_freed(self, pod: Pod, old: Pod, new: Pod | None) -> Hint:
        """A pod went or came to need less: the waiting pod itself, or one whose place it may need."""
        if new is None:
            return Hint.QUEUE if old.spec.node_name or old.status.nominated_node_name else Hint.SKIP
        if new.uid == pod.uid:
            return Hint.QUEUE
        if not new.spec.node_name:
            return Hint.SKIP
        before, after = bound_request(old), bound_request(new)
        freed = (before.amount(name) > after.amount(name) for name, _ in self._needs(pod.spec))
        return Hint.QUEUE if any(freed) else Hint.SKIP

    def node_grew(self, pod: Pod, old: Node | None, new: Node) -> Hint:
        """The pod would fit on the node if it were empty, and the node is new or larger."""
        needs, has = self._needs(pod.spec), node_allocatable(new.status.allocatable)
        if has.pods <= 0 or any(amount > has.amount(name) for name, amount in needs):
            return Hint.SKIP
        larger = old is None or _grew(needs, node_allocatable(old.status.allocatable), has)
        return Hint.QUEUE if larger else Hint.SKIP

    def amounts(self, pod: Pod) -> Amounts:
        """What the filter asks for besides room for one more pod. It asks for nothing else."""
        return self._needs(pod.spec)

    def _needed(self, spec: PodSpec) -> Amounts:
        """What must be free: everything asked for that is not ignored."""
        request = spec.request
        first = (
            ("cpu", request.cpu_milli),
            ("memory", request.memory),
            ("ephemeral-storage", request.ephemeral_storage),
        )
        scalars = ((name, amount) for name, amount in request.scalars if not self._ignores(name))
        return tuple((name, amount) for name, amount in (*first, *scalars) if amount)

    def _ignores(self, name: str) -> bool:
        if name not in self._ignored and name.partition("/")[0] not in self._ignored_groups:
            return False
        return is_extended_resource(name)

    def _supposedly_needed(self, spec: PodSpec) -> Amounts:
        """What the score supposes the pod needs. Requests of the pod as a whole are not read here."""
        if not self.strategy.resources:
            raise failed(NAME, "score", NO_RESOURCES)
        request = spec.request if spec.resources is None else pod_request(spec, pod_level=False)
        amounts = ((name, supposed_amount(request, name)) for name, _ in self.strategy.resources)
        return tuple((name, amount) for name, amount in amounts if not bypasses(name, amount))

    def _keep(self, spec: PodSpec, table: NodeTable) -> Kept:
        weights = dict(self.strategy.resources)
        used = {"cpu": table.nonzero_cpu_milli, "memory": table.nonzero_memory}
        needs, asks = [], []
        for name, amount in self._needs(spec):
            columns = table.of_resource(name)
            needs.append((amount, columns.allocatable, columns.requested, name))
        for name, amount in self._supposed(spec):
            columns = table.of_resource(name)
            asks.append((weights[name], amount, columns.allocatable, used.get(name, columns.requested)))
        room = [(amount, has.at, taken.at) for amount, has, taken, _ in needs]
        return Kept(tuple(needs), tuple(asks), (*room, (1, table.max_pods.at, table.pods.at)))


def _rejection(needs: tuple[Need, ...], row: int, *reasons: str) -> Status:
    """Every reason; evicting pods cannot help when the node would be too small even if empty, or when what
    they take is beyond counting."""
    hopeless, short = False, list(reasons)
    for amount, allocatable, requested, name in needs:
        has, taken = allocatable.at[row], requested.at[row]
        if amount > has - taken:
            short.append(name)
            hopeless = hopeless or amount > has or taken >= MOST_TAKEN
    return _status(tuple(short), hopeless)


def _grew(needs: Amounts, old: Allocatable, new: Allocatable) -> bool:
    """The node has more than before of something the pod needs, or lets more pods in."""
    return new.pods > old.pods or any(new.amount(name) > old.amount(name) for name, _ in needs)


@lru_cache(maxsize=1024)
def _status(what: tuple[str, ...], hopeless: bool) -> Status:
    reasons = (word if word == TOO_MANY_PODS else INSUFFICIENT.format(word) for word in what)
    return (unresolvable if hopeless else unschedulable)(*reasons).by(NAME)
