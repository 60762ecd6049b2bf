"""Plugins that look at topology domains: how many pods are in this zone, on this host, in that rack.

Such a plugin cannot judge a node alone, yet it need not look at every node for every pod. It maps
each node to a key, and works out what it must know of all nodes as their rows change. Nodes of equal
keys are alike to it at any one moment. So the engine asks it once per key, not once per node, and a
placement touches one row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.columns import NodeColumns
from mooring.cluster.view import NodeView
from mooring.framework.api.answers import Rejections
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.key_columns import KeyColumns, LiftedColumns, disagreement
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import SKIP, Status, unschedulable
from mooring.model.objects import Pod

Key = Hashable
FEW_ROWS = 8  # up to here one row at a time is quicker than all together
DOMAINS = "domains of "  # and the plugin's name: where its state lies in a cycle


class DomainState(ABC):
    """What a plugin knows of all nodes for one class of pods. Rows are taken in one by one."""

    filters = True  # whether it ever rejects
    scores = True  # whether it scores

    @abstractmethod
    def update(self, row: int, node: NodeView | None) -> Key:
        """Takes a row in, or again after it changed; None when there is no node any more."""

    def update_all(self, rows: Sequence[int], nodes: Sequence[NodeView | None]) -> list[Key]:
        """The same for many rows, none of them twice."""
        return [self.update(row, node) for row, node in zip(rows, nodes, strict=True)]

    @abstractmethod
    def status(self, key: Key) -> Status | None:
        """What the filter says of nodes of this key now: None when they pass."""

    def passes(self, keys: Sequence[Key]) -> Sequence[bool]:
        """Whether the filter lets nodes of these keys pass: the same as `status`, for many keys."""
        return [self.status(key) is None for key in keys]

    def rows_that_matter(self) -> Collection[int] | None:
        """The rows with pods whose coming or going can change what the filter says of any node, at most;
        None when that may be any row."""
        return None

    def raw_scores(self, keys: Sequence[Key], sizes: Sequence[int]) -> Sequence[int]:
        """Raw scores of the feasible nodes by key, `sizes` nodes each; normalised afterwards."""
        return [0] * len(keys)

    def check(self) -> None:
        """Asserts that nothing it knows contradicts anything else."""
        return

    def columns(self) -> KeyColumns:
        """The same for many keys, as arrays."""
        return LiftedColumns(self)

    @abstractmethod
    def clone(self) -> Self:
        """A copy to try things on."""


class FollowingState(DomainState):
    """A state that finds out by itself which rows changed, and keeps all keys at hand.

    Such a state is not told of every row that changed, only asked to `sync`. Most changes make no
    difference to it, and then it costs next to nothing, however many classes of pods there are.
    """

    @property
    def version(self) -> Hashable:
        """Moves when what it says of a key may be different; None: it always may."""
        return None

    @abstractmethod
    def sync(self) -> Collection[int]:
        """Takes in what changed since the last time; the rows whose keys may be others now."""

    @abstractmethod
    def key(self, row: int) -> Key:
        """The key of a row, as of the last `sync`."""

    @abstractmethod
    def numbered(self, rows: int) -> tuple[NDArray[Any], Sequence[Key]]:
        """The keys of the first rows at once: a number for each row, and the key of each number."""

    def update(self, row: int, node: NodeView | None) -> Key:
        self.sync()
        return self.key(row)


class DomainPlugin(Plugin, ABC):
    """A plugin that judges nodes by key. Its per-node form is made from its state."""

    scope = Scope.DOMAIN

    @abstractmethod
    def domain(self, cycle: Cycle, pod: Pod) -> DomainState:
        """A state that has taken in no row yet."""

    def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> Status | None:
        state = self._state(cycle, pod)
        return state.status(state.update(node.row, node)) if state.filters else None

    def statuses_of(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Rejections:
        """What `filter` says of nodes it rejects: asked once per key."""
        state, rows = self._state(cycle, pod), nodes.rows.tolist()
        if isinstance(state, FollowingState) and type(self).filter is DomainPlugin.filter:
            state.sync()
            if len(rows) < FEW_ROWS:
                found = [state.status(state.key(row)) for row in rows]
            else:
                numbers, keys = state.numbered(max(rows) + 1)
                asked = numbers[nodes.rows].tolist()
                by_number = {number: state.status(keys[number]) for number in dict.fromkeys(asked)}
                found = [by_number[number] for number in asked]
        else:
            found = [self.filter(cycle, pod, nodes.at_row(row)) for row in rows]  # type: ignore[arg-type]
        statuses = [status if status is not None else unschedulable().by(self.name) for status in found]
        number_of = {status: number for number, status in enumerate(dict.fromkeys(statuses))}
        return Rejections(tuple(number_of), np.array([number_of[each] for each in statuses], np.intp))

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Sequence[NodeView]) -> Status | None:
        """Scores every key the feasible nodes have."""
        state = self._state(cycle, pod)
        if not state.scores:
            return SKIP
        if isinstance(state, FollowingState):
            state.sync()
            key_of = {node.row: state.key(node.row) for node in nodes}
        else:
            key_of = {node.row: state.update(node.row, node) for node in nodes}
        sizes = Counter(key_of.values())
        scores = dict(zip(sizes, state.raw_scores(list(sizes), list(sizes.values())), strict=True))
        cycle.write(f"scores of {self.name}", {row: scores[key] for row, key in key_of.items()})
        return None

    def score(self, cycle: Cycle, pod: Pod, node: NodeView) -> int:
        scores: dict[int, int] = cycle.read(f"scores of {self.name}")
        return scores[node.row]

    def state_key(self) -> str:
        """Where the state lies in a cycle."""
        return DOMAINS + self.name

    def prepare(self, cycle: Cycle, pod: Pod) -> None:
        """Has the cycle hold a state, so that copies of the cycle need not make their own."""
        self._state(cycle, pod)

    def rehearse(self, cycle: Cycle, pod: Pod, nodes: Sequence[NodeView]) -> str:
        """What the forms of its state disagree on, if anything, with these nodes."""
        state = self._state(cycle, pod)
        return disagreement(state, list({state.update(node.row, node): None for node in nodes}))

    def _state(self, cycle: Cycle, pod: Pod) -> DomainState:
        """The cycle's state; made from all nodes when the cycle has none."""
        state: Any = cycle.read(self.state_key(), None)
        if state is None:
            state = self.domain(cycle, pod)
            if isinstance(state, FollowingState):
                state.sync()
            else:
                for node in self.handle.cluster.nodes:
                    state.update(node.row, node)
            cycle.write(self.state_key(), state)
        found: DomainState = state
        return found
