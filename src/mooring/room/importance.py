"""Which of two pods is more important: the higher priority, then the one that started earlier."""

from __future__ import annotations

from datetime import UTC, datetime

from mooring.cluster.pods import Placed

NOT_STARTED = 2**52 - 1  # after any start before the year 2112
MICROSECONDS = 1_000_000


def importance(placed: Placed) -> tuple[int, int]:
    """Sorts the more important pods first."""
    pod = placed.pod
    return -pod.priority, started_us(pod.status.start_time)


def started_us(timestamp: str | None) -> int:
    """When a pod started, in microseconds; one that has not yet, or does not say, starts last. Reading it is
    quicker than remembering it: nearly every pod has its own."""
    if not timestamp:
        return NOT_STARTED
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return NOT_STARTED
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    started = round(moment.timestamp() * MICROSECONDS)
    return started if 0 <= started < NOT_STARTED else min(max(started, 0), NOT_STARTED)
