"""The arrays of pods per node follow the cluster, whatever happens to it."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.cluster.cluster import Cluster
from mooring.cluster.pods import Hold, Placed
from mooring.model.objects import Pod
from mooring.room.for_pod.slots import FEW, PodSlots
from mooring.room.importance import NOT_STARTED, importance, started_us
from plugins.preemption.arena import sized, small_node

KEYS = ("app",)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ("take", "take", "give back", "evict", "relabel", "drop node", "promise", "note", "fill", "keys")
        ),
        st.integers(0, 2),
        st.integers(0, 3),
        st.integers(0, 3),
    ),
    max_size=40,
)


def shown(slots: PodSlots, cluster: Cluster) -> list[Any]:
    """Everything the arrays say, in words."""
    rows = np.arange(cluster.nodes.high)
    slots.follow(KEYS)
    seen = slots.gather(rows)
    kinds = slots.kinds
    priority, amounts = kinds.priority, kinds.amounts("cpu")
    said = []
    for row in rows.tolist():
        for slot in range(len(slots.placed(row))):
            kind = seen.kind[slot, row]
            said.append(
                (
                    row,
                    int(priority[kind]),
                    int(seen.start_us[slot, row]),
                    int(amounts[kind]),
                    kinds.all[kind].labels.get("app"),
                )
            )
        assert not seen.kind[len(slots.placed(row)) :, row].any()
    return said


def there(cluster: Cluster, row: int) -> list[Placed]:
    """The pods that hold a place on a row, the most important first; equals as they came."""
    holding = [placed for placed in cluster.pods.on(row).values() if placed.hold is not Hold.PROMISED]
    return sorted(holding, key=importance)


def expected(slots: PodSlots, cluster: Cluster) -> list[Any]:
    for row in range(cluster.nodes.high):
        assert slots.placed(row) == there(cluster, row)
    return [
        (
            row,
            placed.pod.priority,
            importance(placed)[1],
            placed.pod.request.cpu_milli,
            placed.pod.labels.get("app"),
        )
        for row in range(cluster.nodes.high)
        for placed in there(cluster, row)
    ]


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_the_arrays_follow_every_change(steps: list[tuple[str, int, int, int]]) -> None:
    cluster = Cluster()
    slots = PodSlots(cluster.nodes, cluster.pods)
    for number, (what, node, priority, size) in enumerate(steps):
        if what == "note":
            for placed in cluster.pods.by_uid.values():
                slots.kinds.note(placed)
        elif what == "fill":
            slots.follow(KEYS)
            slots.fill_some()
        elif what == "keys":  # budgets look at other labels for a while
            slots.follow(("app", "tier"))
        else:
            _do(cluster, number, what, f"n{node}", priority, size)
            if size:  # otherwise they fall behind
                assert shown(slots, cluster) == expected(slots, cluster)
    assert shown(slots, cluster) == expected(slots, cluster)


def _do(cluster: Cluster, number: int, what: str, node: str, priority: int, size: int) -> None:
    pods = list(cluster.pods.by_uid.values())
    with cluster.statement() as statement:
        if node not in cluster.nodes.rows:
            statement.put_node(small_node(node))
        if what == "take":
            made = sized(f"p{number}", size, priority, start=size, labels={"app": str(priority)})
            statement.take(made.on_node(node), node, bound=True)
        elif what == "promise":
            statement.pipeline(sized(f"p{number}", size, priority), node)
        elif what == "drop node":
            statement.drop_node(node)
        elif pods:
            chosen = pods[number % len(pods)]
            if what == "give back":
                statement.give_back(chosen.pod.uid)
            elif what == "relabel":
                statement.confirm(_relabelled(chosen.pod))
            elif chosen.hold.value == "bound":
                statement.evict(chosen.pod.uid)


def _relabelled(pod: Pod) -> Pod:
    meta = msgspec.structs.replace(pod.metadata, labels={"app": "new", "more": "x"})
    return msgspec.structs.replace(pod, metadata=meta)


def test_filling_ahead_ends() -> None:
    cluster = Cluster()
    slots = PodSlots(cluster.nodes, cluster.pods)
    with cluster.statement() as statement:
        for number in range(3 * FEW):
            statement.put_node(small_node(f"n{number}"))
            statement.take(sized(f"p{number}", 1, 0), f"n{number}")
    slots.follow(KEYS)
    assert [slots.fill_some() for _ in range(3)] == [True, False, False]
    assert shown(slots, cluster) == expected(slots, cluster)


def test_pods_that_have_not_started_come_last() -> None:
    assert started_us(None) == started_us("soon") == NOT_STARTED
    assert started_us("2024-01-01T00:00:00Z") < started_us("2024-01-01T00:00:00.5Z") < NOT_STARTED
    assert started_us("2024-01-01T01:00:00+01:00") == started_us("2024-01-01T00:00:00")


def test_times_nobody_starts_at_stay_within_bounds() -> None:
    assert started_us("1969-12-31T23:59:59Z") == started_us("1970-01-01T00:00:00Z") == 0
    assert started_us("2200-01-01T00:00:00Z") == NOT_STARTED
