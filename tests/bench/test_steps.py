"""Where a pod's time goes: parts are named after modules that there are, and looks become shares."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.bench.steps import ELSEWHERE, PACKAGE, PARTS, Step, Steps, part_of
from mooring.cluster.cluster import Cluster


@pytest.mark.parametrize("name", [name for names in PARTS.values() for name in names])
def test_every_part_is_made_of_modules_there_are(name: str) -> None:
    assert list(Path(PACKAGE).glob(f"{name}*")), name


def test_no_module_belongs_to_two_parts() -> None:
    names = [name for names in PARTS.values() for name in names]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("engine/placement/kept/buckets.py", "what is kept is brought up to date"),
        ("engine/queue/scheduling_queue.py", "the queue"),
        ("engine/queue/queued_pod.py", "the queue"),
        ("plugins/coscheduling/plugin.py", "gangs are looked for"),
        ("plugins/balanced_allocation.py", "plugins judge the rows that changed"),
        ("cluster/statement.py", "the place is taken"),
        ("cluster/labelsets.py", "the class is found"),
        ("engine/attempt.py", ELSEWHERE),
        ("errors.py", ELSEWHERE),
    ],
)
def test_the_longest_name_decides(file: str, part: str) -> None:
    assert part_of(file) == part


def test_looks_become_shares_that_add_up() -> None:
    steps = Steps()
    steps._looks.update({"a": 3, "b": 1})
    assert steps.of(40.0) == (Step("a", 0.75, 30.0), Step("b", 0.25, 10.0))
    assert Steps().of(40.0) == ()


def test_the_innermost_frame_of_mooring_counts() -> None:
    """Time spent in the interpreter's own code is that of who called it."""
    with Steps() as steps:
        cluster = Cluster()
        while not steps._looks:  # until the timer has looked once
            cluster.check()
    (step,) = steps.of(1.0)
    assert step.part == "the place is taken"
