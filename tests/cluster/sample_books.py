"""Books of the kinds there are: of what follows from pods and nodes, and of what is chosen."""

from __future__ import annotations

from typing import Self

from mooring.cluster.books.book import Book
from mooring.cluster.view import StaticNode
from mooring.model.objects import Pod


class Zones(Book[tuple[str, str], int]):
    """Pods of each label in each zone."""

    def added(self, pod: Pod, node: StaticNode) -> None:
        self.add((pod.labels.get("seen", ""), node.labels.get("zone", "")), +1)

    def removed(self, pod: Pod, node: StaticNode) -> None:
        self.add((pod.labels.get("seen", ""), node.labels.get("zone", "")), -1)


class Numbers(Book[str, int]):
    """Each pod has a number of its own: the lowest that is free when it comes."""

    def taken(self, pod: Pod, node_name: str) -> None:
        given = {number for _, number in self.items()}
        self.set(pod.uid, min(set(range(len(given) + 1)) - given))

    def given_back(self, pod: Pod, node_name: str) -> None:
        self.drop(pod.uid)

    def recalled(self, pod: Pod, node_name: str, before: Self) -> None:
        self.set(pod.uid, before[pod.uid])


class Everything(Book[tuple[str, str], int]):
    """Counts whatever it is told, with what the node says of itself."""

    def _count(self, what: str, node: StaticNode, amount: int) -> None:
        self.add((what, f"{node.name} {node.labels.get('zone')} {len(node.taints)}"), amount)

    def added(self, pod: Pod, node: StaticNode) -> None:
        self._count("pods", node, 1)

    def removed(self, pod: Pod, node: StaticNode) -> None:
        self._count("pods", node, -1)

    def leaving(self, pod: Pod, node: StaticNode) -> None:
        self._count("leaving", node, 1)

    def staying(self, pod: Pod, node: StaticNode) -> None:
        self._count("leaving", node, -1)

    def promised(self, pod: Pod, node: StaticNode) -> None:
        self._count("promised", node, 1)

    def unpromised(self, pod: Pod, node: StaticNode) -> None:
        self._count("promised", node, -1)

    def node_added(self, node: StaticNode) -> None:
        self._count("nodes", node, 1)

    def node_removed(self, node: StaticNode) -> None:
        self._count("nodes", node, -1)
