"""A pod that waits for extenders, with what they have said so far. It holds no place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from mooring.engine.events import Consulted
from mooring.engine.queued import QueuedPod
from mooring.extender.wire import AnswerError, FilterResult, HostPriority
from mooring.framework.normalize import MAX_SCORE
from mooring.framework.status import Status, unresolvable, unschedulable
from mooring.model.objects import Pod

MAX_PRIORITY = 10  # extenders score from 0 to 10
LARGEST = 2**62  # of what extenders add: an answer far out of range must not upset the sum
UNKNOWN = 'extender "{url}" claims a filtered node "{name}" which is not found in the input node list'


class Consultation:
    """One parked pod. Its number tells its answers from those to an earlier attempt."""

    def __init__(
        self,
        queued: QueuedPod,
        pod: Pod,
        number: int,
        names: list[str],
        filters: list[int],
        nominated: bool,
    ) -> None:
        self.queued = queued
        self.pod = pod  # as transformers made it: what extenders are shown
        self.number = number
        self.names = names  # of the nodes that are left
        self.filters = filters  # extenders still to be asked to filter
        self.nominated = nominated  # asked about the node it is nominated to, and no other
        self.scoring = False
        self.awaited: set[int] = set()
        self.statuses: dict[str, Status] = {}  # of nodes extenders reject with a reason
        self.dropped = False
        self._scores: dict[str, int] = {}

    def expects(self, event: Consulted) -> bool:
        return event.number == self.number and event.extender in self.awaited

    def narrow(self, found: FilterResult, url: str) -> None:
        """Leaves the nodes a filter leaves; AnswerError when it names one it was not asked about."""
        left = set(found.names)
        if not left <= set(self.names):
            known = set(self.names)
            stranger = next(name for name in found.names if name not in known)
            raise AnswerError(UNKNOWN.format(url=url, name=stranger))
        self.dropped |= len(left) != len(self.names)
        self.names = list(found.names if len(left) == len(found.names) else dict.fromkeys(found.names))
        self.statuses |= _given(found.failed, unschedulable)
        self.statuses |= _given(found.unresolvable, unresolvable)

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
        return {rows[name]: scores[name] for name in self.names if name in scores and name in rows}


def _given(reasons: Mapping[str, str], status: Callable[[str], Status]) -> dict[str, Status]:
    """The statuses of nodes; those with the same reason share one."""
    shared = {reason: status(reason) for reason in set(reasons.values())}
    return {name: shared[reason] for name, reason in reasons.items()}
