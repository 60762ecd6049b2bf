"""A meter measures and never decides: with one and without, an engine does the same."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.stage import BUILT_IN, Stage, bad, erring, node, pod
from mooring.engine.decisions import Bind, Decision, Evict, Wait
from mooring.framework.metrics.meter import Meter
from mooring.plugins.preemption import DefaultPreemption

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pod"), st.integers(1, 4), st.integers(0, 3)),
        st.tuples(st.just("bad"), st.just(0), st.just(0)),
        st.tuples(st.just("node"), st.integers(1, 6), st.just(0)),
        st.tuples(st.just("fail"), st.just(0), st.just(0)),
        st.tuples(st.just("tick"), st.integers(1, 400), st.just(0)),
    ),
    max_size=30,
)


def run(steps: list[tuple[str, int, int]], meter: Meter | None) -> list[object]:
    stage = Stage(erring(), base=(*BUILT_IN, DefaultPreemption), meter=meter).nodes("first")
    told: list[object] = []
    for number, (what, amount, priority) in enumerate(steps):
        if what == "pod":
            stage.add(pod(f"p{number}", cpu=str(amount), priority=priority))
        elif what == "bad":
            stage.add(bad(f"p{number}"))
        elif what == "node":
            stage.nodes(node(f"n{number}", cpu=str(amount)))
        elif what == "tick":
            stage.tick(stage.now + amount)
        told.extend(drain(stage, 1, fails=what == "fail"))  # so that pods of all kinds lie in the queue
    told.extend(drain(stage, 50, fails=False))
    told.append(stage.engine.queue.sizes())
    return told


def drain(stage: Stage, cycles: int, *, fails: bool) -> list[object]:
    told: list[object] = []
    for _ in range(cycles):
        decisions = stage.cycle()
        if decisions is None:
            break
        for decision in decisions:
            told.append(shown(decision))
            if isinstance(decision, Bind):
                stage.bind_failed(decision) if fails else stage.bound(decision)
            elif isinstance(decision, Evict):
                stage.delete(decision.pod)
    return told


def shown(decision: Decision) -> Any:
    match decision:
        case Bind(pod, node):
            return "bind", pod.key, node
        case Wait(pod, reason, message, plugins):
            return "wait", pod.key, reason, message, plugins
        case Evict(pod, by):
            return "evict", pod.key, by
    return type(decision).__name__


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_decides_the_same(steps: list[tuple[str, int, int]]) -> None:
    clock = iter(range(10**9))
    assert run(steps, Meter(lambda: float(next(clock)), random.Random(7))) == run(steps, None)


def test_many_observations_are_folded_on_the_way() -> None:
    from mooring.framework.metrics import meter as module
    from mooring.framework.metrics.families import ALGORITHM_SECONDS

    made = Meter(lambda: 0.0)
    samples = made.samples(ALGORITHM_SECONDS)
    for _ in range(module.FOLD_ABOVE + 1):
        samples.observe(0.5)
    for _ in range(module.LOOK_EVERY):
        made.gap()
    assert samples.unsorted == 0
    assert sum(samples.counts) == module.FOLD_ABOVE + 1
    samples.observe(0.5)
    assert samples.sum == 0.5 * (module.FOLD_ABOVE + 2)


def test_a_tenth_of_the_cycles_is_sampled() -> None:
    made = Meter(lambda: 0.0, random.Random(3))
    gaps = [made.gap() for _ in range(2000)]
    assert min(gaps) >= 1
    assert 9.7 < sum(gap + 1 for gap in gaps) / len(gaps) < 10.3
