"""NodeResourcesFit over many pods: one node, asked about for every class of pods at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from mooring.cluster.column import Ints
from mooring.cluster.columns import Bools, Rows
from mooring.cluster.view import NodeView
from mooring.framework.running.many_pods import PodColumns
from mooring.model.objects import Pod, PodSpec
from mooring.plugins.node_resources_fit.strategies import ResourceOverPods, Strategy
from mooring.plugins.pod_amounts import FIRST_SLOTS, PodAmounts, with_room

EVERYWHERE = ("cpu", "memory", "ephemeral-storage")  # nodes have them, and pods ask for them

Amounts = tuple[tuple[str, int], ...]  # resources by name
Reads = Callable[[PodSpec], Amounts]  # of a pod


class FitColumns(PodColumns):
    """What pods need and are supposed to need, by resource."""

    def __init__(self, strategy: Strategy, needs: Reads, supposed: Reads) -> None:
        self._strategy = strategy
        self._read_needs = needs
        self._read_supposed = supposed
        self._needs: dict[str, PodAmounts] = {}  # of resources that are everywhere and that some pod needs
        self._rare = RareNeeds()
        self._supposed = {name: PodAmounts() for name, _ in strategy.resources}

    def put(self, slot: int, pod: Pod) -> None:
        needs = self._read_needs(pod.spec)
        self._rare.put(slot, tuple(need for need in needs if need[0] not in EVERYWHERE))
        for name, _ in needs:
            if name in EVERYWHERE and name not in self._needs:
                self._needs[name] = PodAmounts()
        _write(self._needs, slot, dict(needs))
        _write(self._supposed, slot, dict(self._read_supposed(pod.spec)))

    def filter(self, node: NodeView, slots: int) -> Bools:
        if node.pod_count >= node.max_pods:
            return np.zeros(slots, np.bool_)
        passes = self._rare.met(node, slots)
        for name, column in self._needs.items():
            # Who needs nothing is not kept away by a node that holds more than it has.
            enough = column.ints[:slots] <= max(node.free(name), 0)
            passes = enough if passes is None else np.logical_and(passes, enough, out=enough)
        return np.ones(slots, np.bool_) if passes is None else passes

    def score(self, node: NodeView, slots: int) -> Ints:
        asked = []
        for name, weight in self._strategy.resources:
            amounts, used, has = self._supposed[name], node.requested_nonzero(name), node.allocatable(name)
            asked.append(ResourceOverPods(weight, amounts.ints[:slots], amounts.floats[:slots], used, has))
        return self._strategy.over_pods(asked, slots)


class RareNeeds:
    """Needs of resources that few nodes have: a node is asked about those it has, and no others."""

    def __init__(self) -> None:
        self._needs: dict[str, dict[int, int]] = {}  # amounts by resource and slot
        self._of: dict[int, Amounts] = {}  # what each slot needs
        self._counts = np.zeros(FIRST_SLOTS, np.int64)  # of resources that each needs
        self._arrays: dict[str, tuple[Rows, Ints]] = {}  # the needs, to be compared all at once

    def put(self, slot: int, needs: Amounts) -> None:
        self._counts = with_room(self._counts, slot)
        for name, _ in self._of.pop(slot, ()):
            self._changed(name).pop(slot)
            if not self._needs[name]:
                del self._needs[name]
        if needs:
            self._of[slot] = needs
        for name, amount in needs:
            self._changed(name)[slot] = amount
        self._counts[slot] = len(needs)

    def _changed(self, name: str) -> dict[int, int]:
        self._arrays.pop(name, None)
        return self._needs.setdefault(name, {})

    def met(self, node: NodeView, slots: int) -> Bools | None:
        """For which of the first slots the node has what is needed; None: nobody needs anything."""
        if not self._needs:
            return None
        unmet = self._counts[:slots].copy()
        for name in node.object.status.allocatable.keys() & self._needs.keys():
            who, amounts = self._compared(name)
            unmet[who[(amounts <= node.free(name)) & (who < slots)]] -= 1
        return np.asarray(unmet == 0)

    def _compared(self, name: str) -> tuple[Rows, Ints]:
        if name not in self._arrays:
            needs, count = self._needs[name], len(self._needs[name])
            amounts = np.fromiter(needs.values(), np.int64, count)
            self._arrays[name] = np.fromiter(needs, np.intp, count), amounts
        return self._arrays[name]


def _write(columns: Mapping[str, PodAmounts], slot: int, amounts: dict[str, int]) -> None:
    for name, column in columns.items():
        column.put(slot, amounts.get(name, 0))
