"""How much of a cluster is in use: now, at its peak, and over time.

Resources are cpu (in thousandths), memory (in bytes), every extended resource the nodes have, and
pods. Requests count, as they do for the scheduler.
"""

from __future__ import annotations

import msgspec

from mooring.model.objects import Node, Pod
from mooring.model.requests import Allocatable, Request, node_allocatable

Amounts = dict[str, int]
KEPT_SAMPLES = 1024


class NodeUse(msgspec.Struct):
    """One node: what it has, what is taken, and the most that ever was."""

    name: str
    labels: dict[str, str]
    capacity: Amounts
    used: Amounts = {}
    peak: Amounts = {}
    placed: int = 0
    cordoned: bool = False
    left: bool = False

    def take(self, amounts: Amounts, sign: int) -> None:
        for name, amount in amounts.items():
            self.used[name] = self.used.get(name, 0) + sign * amount
            self.peak[name] = max(self.peak.get(name, 0), self.used[name])


class Sample(msgspec.Struct, frozen=True):
    """The whole cluster at one moment."""

    time: float
    used: Amounts
    capacity: Amounts
    pending: int


class Usage:
    """Adds up what pods take, node by node."""

    def __init__(self) -> None:
        self.nodes: dict[str, NodeUse] = {}
        self.used: Amounts = {}
        self.capacity: Amounts = {}
        self.samples: list[Sample] = []
        self._taken: dict[str, tuple[str, Amounts]] = {}  # uid to node and amounts
        self._gap = 0.0

    def add_node(self, node: Node) -> None:
        capacity = capacity_of(node_allocatable(node.status.allocatable))
        self.nodes[node.name] = NodeUse(
            node.name, node.labels, capacity, used={}, peak={}, cordoned=node.spec.unschedulable
        )
        _add(self.capacity, capacity, 1)

    def change_node(self, node: Node) -> None:
        known = self.nodes[node.name]
        _add(self.capacity, known.capacity, -1)
        known.capacity = capacity_of(node_allocatable(node.status.allocatable))
        known.labels, known.cordoned = node.labels, node.spec.unschedulable
        _add(self.capacity, known.capacity, 1)

    def remove_node(self, name: str) -> None:
        self.nodes[name].left = True
        _add(self.capacity, self.nodes[name].capacity, -1)

    def take(self, pod: Pod, request: Request) -> None:
        """A pod has come to its node. Saying so twice changes nothing."""
        if pod.uid in self._taken:
            return
        amounts = amounts_of(request)
        self._taken[pod.uid] = (pod.spec.node_name, amounts)
        _add(self.used, amounts, 1)
        node = self.nodes.get(pod.spec.node_name)
        if node is not None:
            node.take(amounts, 1)
            node.placed += 1

    def give_back(self, pod: Pod) -> None:
        node_name, amounts = self._taken.pop(pod.uid, ("", {}))
        _add(self.used, amounts, -1)
        if node_name in self.nodes:
            self.nodes[node_name].take(amounts, -1)

    def sample(self, time: float, pending: int) -> None:
        """Notes the present. When there are too many samples every other one goes, and they come rarer."""
        sample = Sample(time, dict(self.used), dict(self.capacity), pending)
        if len(self.samples) > 1 and time - self.samples[-2].time < self._gap:
            self.samples[-1] = sample
            return
        self.samples.append(sample)
        if len(self.samples) > KEPT_SAMPLES:
            self.samples = [*self.samples[:-1:2], sample]
            self._gap = (time - self.samples[0].time) / (KEPT_SAMPLES / 2)


def amounts_of(request: Request) -> Amounts:
    """What a pod takes, with itself as one pod."""
    return {"cpu": request.cpu_milli, "memory": request.memory, **dict(request.scalars), "pods": 1}


def capacity_of(allocatable: Allocatable) -> Amounts:
    return {
        "cpu": allocatable.cpu_milli,
        "memory": allocatable.memory,
        **dict(allocatable.scalars),
        "pods": allocatable.pods,
    }


def _add(total: Amounts, amounts: Amounts, sign: int) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, 0) + sign * amount
