"""Why a pod fits nowhere, and the sentence that says so, in kube-scheduler's words."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec
import numpy as np

from mooring.cluster.columns import Bools, Rows
from mooring.cluster.nodes import NodeTable
from mooring.framework.api.status import Code, Status
from mooring.model.texts import LONGEST_MESSAGE, LONGEST_SAID, clipped, fitting, with_more

NO_NODES = "no nodes available to schedule pods"
MOST_REASONS = 256  # of a message
ROOM_FOR_REASONS = LONGEST_MESSAGE - LONGEST_SAID  # characters: others say something too


class NodeStatuses(Mapping[str, Status]):
    """The status of every node: those that were asked, and one for all that were not."""

    def __init__(
        self, nodes: NodeTable, by_row: Mapping[int, Status], absent: Status, resolvable: Bools | None = None
    ) -> None:
        self._nodes = nodes
        self.by_row = by_row
        self._resolvable = resolvable  # by row, if somebody knows
        self.absent = absent

    def __getitem__(self, name: str) -> Status:
        return self.by_row.get(self._nodes.rows[name], self.absent)

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes.rows)

    def __len__(self) -> int:
        return len(self._nodes.rows)

    def replaced(self, by_row: Mapping[int, Status]) -> NodeStatuses:
        return NodeStatuses(self._nodes, by_row, self.absent)

    def resolvable(self) -> list[str]:
        """Nodes on which evicting pods may help."""
        return [self._nodes.names[row] for row in self.resolvable_rows()]

    def resolvable_rows(self) -> Rows:
        """Their rows, in the order they joined."""
        order = self._nodes.in_order()
        if self._resolvable is not None:
            if np.count_nonzero(self._resolvable) == len(order):
                return order  # all of them; quicker than to pick them
            return order[self._resolvable[order]]
        by_row, absent = self.by_row, self.absent
        helps = [by_row.get(row, absent).code is Code.UNSCHEDULABLE for row in order.tolist()]
        return order[np.array(helps, np.bool_)]


class FitError(msgspec.Struct, frozen=True):
    """A pod that fits nowhere. `counts` says how many nodes gave each status."""

    nodes: int
    statuses: NodeStatuses
    counts: Mapping[Status, int]
    pre_filter_message: str = ""
    plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()

    def histogram(self) -> Counter[str]:
        """How many nodes gave each reason. A node may give several."""
        reasons: dict[str, int] = {}
        others = self.nodes - sum(self.counts.values())
        for status, count in (*self.counts.items(), (self.statuses.absent, others)):
            for reason in status.reasons:
                reasons[reason] = reasons.get(reason, 0) + count
        return Counter({reason: count for reason, count in reasons.items() if count > 0})

    def message(self, post_filter: str = "") -> str:
        text = f"0/{self.nodes} nodes are available:"
        if self.pre_filter_message:
            text += f" {self.pre_filter_message}."
        elif reasons := _counted(self.histogram()):
            text += f" {', '.join(reasons)}."
        return clipped(f"{text} {post_filter}" if post_filter else text, LONGEST_MESSAGE)


def _counted(histogram: Mapping[str, int]) -> list[str]:
    """Reasons with the numbers of nodes, sorted as kube-scheduler sorts them. Of too many, those that most
    nodes give, and how many more there are."""
    counts: Iterable[tuple[str, int]] = histogram.items()
    if len(histogram) > MOST_REASONS or sum(map(len, histogram)) > ROOM_FOR_REASONS:
        counts = heapq.nsmallest(MOST_REASONS, counts, key=lambda each: (-each[1], each[0]))
    kept = fitting((f"{count} {reason}" for reason, count in counts), ROOM_FOR_REASONS)
    return with_more(sorted(kept), len(histogram))


def overlaid(why: FitError, by_row: Mapping[int, Status], plugin: str) -> FitError:
    """The same with other statuses of some nodes, and one more plugin that rejects."""
    statuses, counts = dict(why.statuses.by_row), Counter(why.counts)
    for row, status in by_row.items():
        if (before := statuses.get(row)) is not None:
            counts[before] -= 1
        statuses[row] = status
        counts[status] += 1
    return msgspec.structs.replace(
        why, statuses=why.statuses.replaced(statuses), counts=+counts, plugins=why.plugins | {plugin}
    )


def one_node(nodes: NodeTable, node_name: str, status: Status) -> FitError:
    """A pod that had a node and was rejected there, at reserve or permit."""
    row = nodes.rows.get(node_name, -1)
    plugins, pending = _blame([status])
    return FitError(
        1, NodeStatuses(nodes, {row: status}, Status()), {status: 1}, plugins=plugins, pending_plugins=pending
    )


def nodes_rejected(
    nodes: NodeTable,
    by_row: Mapping[int, Status],
    counts: Mapping[Status, int],
    absent: Status = Status(),  # noqa: B008 - frozen
    also: Iterable[str] = (),
    resolvable: Bools | None = None,
) -> FitError:
    """A pod every node rejected. `also` names the plugins that kept nodes from being asked."""
    plugins, pending = _blame(counts)
    statuses = NodeStatuses(nodes, by_row, absent, resolvable)
    return FitError(len(nodes), statuses, counts, plugins=plugins | frozenset(also), pending_plugins=pending)


def rejected_before(nodes: NodeTable, status: Status) -> FitError:
    """A pod that was rejected before any node was asked."""
    plugins, pending = _blame([status])
    return FitError(len(nodes), NodeStatuses(nodes, {}, status), {}, status.message, plugins, pending)


def _blame(statuses: Iterable[Status]) -> tuple[frozenset[str], frozenset[str]]:
    """The plugins that reject, and those that wait for something."""
    given = {(status.plugin, status.code is Code.PENDING) for status in statuses if status.plugin}
    return (
        frozenset(plugin for plugin, pending in given if not pending),
        frozenset(plugin for plugin, pending in given if pending),
    )
