"""A pod that waits for extenders, with what they have said so far. It holds no place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

import numpy as np

from mooring.cluster.columns import Bools
from mooring.cluster.nodes import NodeTable
from mooring.engine.events import Consulted
from mooring.engine.placement.full_evaluation import rows_mask
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.extender.wire import AnswerError, FilterResult, HostPriority
from mooring.framework.api.answers import LONGEST_REASON
from mooring.framework.api.normalize import MAX_SCORE
from mooring.framework.api.status import Status, unresolvable, unschedulable
from mooring.model.objects import Pod
from mooring.model.texts import clipped

MAX_PRIORITY = 10  # extenders score from 0 to 10
LARGEST = 2**62  # of what extenders add: an answer far out of range must not upset the sum
STALE = -1
UNKNOWN = 'extender "{url}" claims a filtered node "{name}" which is not found in the input node list'


class Left:
    """The nodes that are left, by name; and by row, which is quicker, while no node comes or goes."""

    __slots__ = ("_at", "_rows", "names")

    def __init__(self, names: Sequence[str], rows: Bools, at: int) -> None:
        self.names = names
        self._rows = rows
        self._at = at  # the position in the journal of nodes at which rows are right

    def rows(self, nodes: NodeTable) -> Bools:
        """The rows these nodes have now."""
        if self._at == nodes.node_journal.position:
            return self._rows
        return rows_mask(nodes.high, (row for row in map(nodes.rows.get, self.names) if row is not None))

    def narrowed(self, names: Sequence[str], nodes: NodeTable, url: str) -> Left:
        """These of them; AnswerError when some are not among them."""
        if self._at == nodes.node_journal.position:
            with suppress(KeyError):  # of a stranger, who is named below
                numbers = np.fromiter(map(nodes.rows.__getitem__, names), np.intp, len(names))
                rows = np.zeros(len(self._rows), np.bool_)
                rows[numbers] = True
                if self._rows[numbers].all():
                    return Left(_distinct(names, int(rows.sum())), rows, self._at)
        known = set(self.names)
        stranger = next((name for name in names if name not in known), None)
        if stranger is not None:
            raise AnswerError(UNKNOWN.format(url=url, name=stranger))
        return Left(_distinct(names, len(set(names))), self._rows, STALE)


NOTHING_LEFT = Left((), np.zeros(0, np.bool_), STALE)


class Consultation:
    """One parked pod. Its number tells its answers from those to an earlier attempt."""

    def __init__(
        self, queued: QueuedPod, pod: Pod, number: int, left: Left, filters: list[int], nominated: bool
    ) -> None:
        self.queued = queued
        self.pod = pod  # as transformers made it: what extenders are shown
        self.number = number
        self.left = left
        self.filters = filters  # extenders still to be asked to filter
        self.nominated = nominated  # asked about the node it is nominated to, and no other
        self.scoring = False
        self.awaited: set[int] = set()
        self.statuses: dict[str, Status] = {}  # of nodes extenders reject with a reason
        self._asked = len(left.names)
        self._scores: dict[str, int] = {}

    @property
    def asked(self) -> int:
        """An extender that has not answered."""
        return min(self.awaited)

    @property
    def about(self) -> str:
        return "which nodes it prefers" if self.scoring else "which nodes it leaves"

    def expects(self, event: Consulted) -> bool:
        return event.number == self.number and event.extender in self.awaited

    def narrow(self, found: FilterResult, nodes: NodeTable, url: str) -> None:
        """Leaves the nodes a filter leaves; AnswerError when it names one it was not asked about."""
        self.left = self.left.narrowed(found.names, nodes, url)
        self.statuses |= _given(found.failed, unschedulable)
        self.statuses |= _given(found.unresolvable, unresolvable)

    @property
    def dropped(self) -> bool:
        return len(self.left.names) != self._asked

    def reasons(self) -> Counter[str]:
        """How many nodes extenders rejected for each reason they gave."""
        return Counter(status.message for status in self.statuses.values())

    def add(self, priorities: Iterable[HostPriority], weight: int) -> None:
        """Adds an extender's scores, brought to the scale of plugins."""
        factor = weight * (MAX_SCORE // MAX_PRIORITY)
        for each in priorities:
            total = self._scores.get(each.host, 0) + each.score * factor
            self._scores[each.host] = max(-LARGEST, min(LARGEST, total))

    def bonus(self, rows: Mapping[str, int]) -> dict[int, int]:
        """What extenders add to the totals of nodes, by row: of those that are left and still there."""
        scores = self._scores
        if not scores:
            return {}
        return {rows[name]: scores[name] for name in self.left.names if name in scores and name in rows}


def _distinct(names: Sequence[str], count: int) -> Sequence[str]:
    return names if len(names) == count else tuple(dict.fromkeys(names))


def _given(reasons: Mapping[str, str], status: Callable[[str], Status]) -> dict[str, Status]:
    """The statuses of nodes; those with the same reason share one."""
    shared = {reason: status(clipped(reason, LONGEST_REASON)) for reason in set(reasons.values())}
    return {name: shared[reason] for name, reason in reasons.items()}
