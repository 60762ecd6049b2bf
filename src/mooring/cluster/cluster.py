"""The cluster: node columns, placed pods, label sets, and the statements that change them."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from mooring.cluster.books.books import Books
from mooring.cluster.changes import History
from mooring.cluster.charge import Charges
from mooring.cluster.counts import PodCounts
from mooring.cluster.labelsets import LabelSets
from mooring.cluster.nodes import MOST_TAKEN, NodeTable
from mooring.cluster.pods import Hold, Placed, PodTable
from mooring.cluster.statement import Statement
from mooring.errors import ClusterError, InvariantError


class Observer(Protocol):
    """Told of each pod that starts or stops holding a place, or is evicted from it, also while something is
    only tried."""

    def taken(self, placed: Placed) -> None: ...

    def given_back(self, placed: Placed) -> None: ...

    def evicted(self, placed: Placed) -> None: ...

    def kept(self, placed: Placed) -> None:
        """It is not on its way out after all."""


class Cluster:
    """State as of now, including what has been decided and not yet confirmed."""

    def __init__(self) -> None:
        self.nodes = NodeTable()
        self.pods = PodTable()
        self.labelsets = LabelSets()
        self.counts = PodCounts(self.labelsets, self.pods.by_uid.values)
        self.charges = Charges()
        self.history = History()
        self.observers: list[Observer] = []
        self.books = Books(self)

    def statement(self) -> Statement:
        """Starts a set of changes that are kept or undone together."""
        return Statement(self)

    def fork(self, *, counts: bool = True, lasting: bool = True) -> Cluster:
        """An independent copy, with what is being tried at the moment as if it was final. Objects are shared,
        since nobody changes them; tables are copied, entries of pods when they change. Nobody observes it.
        Without `counts`, pods are counted for who asks there, not as they were for who asked here. One
        that does not last is good until something changes here, and costs this one nothing afterwards."""
        fork = Cluster.__new__(Cluster)
        fork.nodes, fork.pods = self.nodes.fork(), self.pods.fork(lasting=lasting)
        fork.labelsets = self.labelsets.fork() if counts else LabelSets()
        placed = fork.pods.by_uid.values
        fork.counts = (
            self.counts.fork(fork.labelsets, placed) if counts else PodCounts(fork.labelsets, placed)
        )
        fork.charges = self.charges  # it knows what follows from requests, and nothing of this cluster
        fork.history = self.history.fork()
        fork.observers, fork.books = [], self.books.fork(fork)
        return fork

    def as_of(self, position: int) -> Cluster:
        """A fork of this cluster as it was at an earlier position of its history. It does not last.
        ClusterError when the history does not reach so far."""
        if not self.history.reaches(position):
            raise ClusterError(f"the history does not reach change {position}")
        fork = self.fork(lasting=False)
        fork.history.rewind(fork, position)
        return fork

    def check(self) -> None:
        """Raises InvariantError, or fails an assertion, unless columns, pods and ports agree."""
        nodes = self.nodes
        for row in range(nodes.high):
            placed = list(self.pods.on(row).values())
            if placed and not nodes.alive[row]:
                raise InvariantError(f"row {row} is free and holds {len(placed)} pods")
            holding = [p for p in placed if p.hold is not Hold.PROMISED]
            self._check_row(row, "pods", nodes.pods.at[row], len(holding))
            cpu_milli = sum(p.charge.nonzero_cpu_milli for p in holding)
            self._check_row(row, "nonzero cpu", nodes.nonzero_cpu_milli.at[row], cpu_milli)
            memory = sum(p.charge.nonzero_memory for p in holding)
            self._check_row(row, "nonzero memory", nodes.nonzero_memory.at[row], memory)
            for name, columns in nodes.resources.items():
                total = sum(dict(pod.charge.amounts).get(name, 0) for pod in holding)
                self._check_row(row, f"requested {name}", columns.requested.at[row], total)
            for pod in holding:
                if pod.charge.ports and not nodes.ports.clash(row, pod.charge.ports):
                    raise InvariantError(f"row {row}: ports of {pod.pod.key} are not marked as used")
        nodes.check()
        self.books.check()

    def _check_row(self, row: int, what: str, column: int, pods: int) -> None:
        if min(column, MOST_TAKEN) != min(pods, MOST_TAKEN):
            raise InvariantError(f"row {row}: {what} is {column} in the column and {pods} over its pods")

    def overcommitted(self) -> list[str]:
        """Nodes on which pods hold more than there is, as `node: resource`."""
        nodes = self.nodes
        found = []
        for name, row in nodes.rows.items():
            if nodes.pods.at[row] > nodes.max_pods.at[row]:
                found.append(f"{name}: pods")
            taken: Counter[str] = Counter()
            for placed in self.pods.on(row).values():
                if placed.hold is not Hold.PROMISED:
                    taken.update(dict(placed.charge.amounts))
            for resource, amount in taken.items():
                if amount > nodes.of_resource(resource).allocatable.at[row]:
                    found.append(f"{name}: {resource}")
        return found
