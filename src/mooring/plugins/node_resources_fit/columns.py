"""NodeResourcesFit over many pods: one node, asked about for every class of pods at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mooring.cluster.columns import Bools
from mooring.cluster.nodes import Ints
from mooring.cluster.view import NodeView
from mooring.framework.forms import PodColumns
from mooring.model.objects import Pod, PodSpec
from mooring.plugins.node_resources_fit.strategies import Strategy

FIRST_SLOTS = 16

Amounts = tuple[tuple[str, int], ...]  # resources by name
Reads = Callable[[PodSpec], Amounts]  # of a pod


class FitColumns(PodColumns):
    """What pods need and are supposed to need, by resource."""

    def __init__(self, strategy: Strategy, needs: Reads, supposed: Reads) -> None:
        self._strategy = strategy
        self._read_needs = needs
        self._read_supposed = supposed
        self._slots = FIRST_SLOTS
        self._needs: dict[str, Ints] = {}
        self._supposed: dict[str, Ints] = {name: np.zeros(FIRST_SLOTS, np.int64)
                                           for name, _ in strategy.resources}  # fmt: skip

    def put(self, slot: int, pod: Pod) -> None:
        if slot >= self._slots:
            self._widen(2 * slot)
        self._write(self._needs, slot, self._read_needs(pod.spec))
        self._write(self._supposed, slot, self._read_supposed(pod.spec))

    def _widen(self, slots: int) -> None:
        for columns in (self._needs, self._supposed):
            for name, column in columns.items():
                columns[name] = np.concatenate((column, np.zeros(slots - len(column), np.int64)))
        self._slots = slots

    def _write(self, columns: dict[str, Ints], slot: int, amounts: Amounts) -> None:
        for column in columns.values():
            column[slot] = 0
        for name, amount in amounts:
            if name not in columns:
                columns[name] = np.zeros(self._slots, np.int64)
            columns[name][slot] = amount

    def filter(self, node: NodeView, slots: int) -> Bools:
        if node.pod_count >= node.max_pods:
            return np.zeros(slots, np.bool_)
        passes: Bools = np.ones(slots, np.bool_)
        for name, column in self._needs.items():
            needed, free = column[:slots], node.free(name)
            # Who needs nothing is not kept away by a node that holds more than it has.
            passes &= needed <= free if free >= 0 else needed == 0
        return passes

    def score(self, node: NodeView, slots: int) -> Ints:
        asked = [
            (weight, self._supposed[name][:slots], node.requested_nonzero(name), node.allocatable(name))
            for name, weight in self._strategy.resources
        ]
        return self._strategy.over_pods(asked, slots)
