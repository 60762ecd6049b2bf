"""Pods in flight learn of what happened since they were taken from the queue, and of nothing before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.stage import pod
from mooring.engine.queue.in_flight import InFlight
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.framework.api.events import NODE, Action, ClusterEvent

STEPS = st.lists(st.tuples(st.sampled_from(["add", "record", "done"]), st.integers(0, 4)), max_size=40)


@given(STEPS)
def test_each_pod_is_told_what_happened_since(steps: list[tuple[str, int]]) -> None:
    flight = InFlight()
    told: dict[str, list[ClusterEvent]] = {}
    for moment, (what, number) in enumerate(steps):
        uid = f"p{number}"
        if what == "add" and uid not in told:
            flight.begin(QueuedPod(pod(uid), 0.0))
            told[uid] = []
        elif what == "record":
            happened = ClusterEvent(NODE, Action.ADD, str(moment))
            flight.record(happened)
            for events in told.values():
                events.append(happened)
        elif what == "done":
            flight.done(uid)
            told.pop(uid, None)
        assert {uid: flight.events_for(uid) for uid in flight.pods} == told
        assert len(flight.events) == max(map(len, told.values()), default=0)  # no longer than needed
