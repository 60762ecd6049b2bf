"""Nobody waits in silence: a pod without a node has a condition, an Event, and an answer to who asks why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from chaos.ledger import Entry

ASKED = 200  # pods of which more is looked up than the changes say


def waiting_in_silence(
    pods: Iterable[Entry], has_event: Callable[[Entry], bool], why: Callable[[Entry], str]
) -> Iterator[str]:
    """Which word is missing of which pod. `why` is what a scheduler answers."""
    waiting = [each for each in pods if not each.node and not each.deleting]
    for each in waiting:
        if not each.message:
            yield f"{each.key} waits without a condition"
    for each in waiting[:ASKED]:
        if not has_event(each):
            yield f"{each.key} waits without an Event"
        if not why(each):
            yield f"{each.key} waits, and nobody says why"
