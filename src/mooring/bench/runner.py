"""Runs one case in this process and measures it.

Generating objects, adding nodes and the pods that are there first lie outside the measured part.
Inside lie the queue, the choice, taking the place, and the decision with its confirmation.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from statistics import median
from time import perf_counter, process_time, thread_time
from typing import Any

import msgspec

from mooring.bench.case import Case
from mooring.bench.steps import Step
from mooring.engine.decisions import Bind, Decision, Evict
from mooring.engine.engine import Engine
from mooring.engine.events import Bound, NodeAdded, ObjectAdded, PodAdded, PodDeleted
from mooring.kube.garbage_collection import settled
from mooring.model.objects import Pod
from mooring.plugins.catalogue import plans_with

WARM_UP_PODS = 100
TOLD_TIMES = 100  # how often progress is told: a bar takes as long to draw as a pod to place


class Measured(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the table, and one object of `--json`. What has a default is said by some cases only."""

    case: str
    nodes: int
    pods: int
    bound: int
    pods_per_s: float
    cpu_us_per_pod: float
    p50_us: float
    p99_us: float
    peak_mb: float
    first_ms: float | None = None  # the very first cycle of the engine, in processor time
    later_ms: float | None = None  # of the cycles after it that evict pods: the middle one
    us_per_pod: float | None = None  # from the queue to the decision, with all waiting
    extender_share: float | None = None  # of that, the part of the filter that is measured
    best_per_cpu_s: float | None = None  # pods a second of processor time, in the best of several windows
    best_p99_us: float | None = None  # of a cycle, in the best of several windows
    steps: tuple[Step, ...] = ()  # where the time of a pod goes


class Window(msgspec.Struct, frozen=True):
    """A part of the measured pods, in the order of their arrival."""

    pods: int
    cpu_s: float
    cycles: list[float]  # how long each took, sorted

    @property
    def p99_s(self) -> float:
        return _at(self.cycles, 99)


Progress = Callable[[int, int], None]


def run_case(
    case: Case,
    nodes: int,
    pods: int,
    progress: Progress | None = None,
    *,
    windows: int | None = None,
    watched: AbstractContextManager[Any] | None = None,
) -> Measured:
    """Measures a case. `windows`: parts of which the best is told as well. `watched` is open meanwhile."""
    engine = _prepared(case, nodes)
    if not case.cold:
        _warm_up(engine, [_renamed(p) for p in case.make_pods(min(WARM_UP_PODS, pods), nodes)])
    wanted = list(case.make_pods(pods, nodes))
    evicting: list[float] = []  # the cycles that make room
    seen: list[Window] = []
    bound = told = 0
    with settled(), watched or nullcontext():
        wall, cpu = perf_counter(), process_time()
        for start, end in _parts(pods, windows or 1):
            cycles: list[float] = []
            spent = process_time()
            for first in range(start, end, case.arrive_together):
                _arrive(engine, case, wanted, range(first, min(first + case.arrive_together, end)))
                bound += _drain(engine, cycles, evicting)
                if progress is not None and first >= told:
                    progress(first, pods)
                    told = first + pods // TOLD_TIMES
            seen.append(Window(end - start, process_time() - spent, sorted(cycles)))
        wall, cpu = perf_counter() - wall, process_time() - cpu
    cycles = sorted(each for window in seen for each in window.cycles)
    return Measured(
        case=case.name,
        nodes=nodes,
        pods=pods,
        bound=bound,
        pods_per_s=round(pods / wall, 1),
        cpu_us_per_pod=round(cpu / pods * 1e6, 2),
        p50_us=round(_at(cycles, 50) * 1e6, 2),
        p99_us=round(_at(cycles, 99) * 1e6, 2),
        peak_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        first_ms=round(evicting[0] * 1e3, 2) if case.cold and evicting else None,
        later_ms=round(median(evicting[1:]) * 1e3, 2) if case.cold and evicting[1:] else None,
        best_per_cpu_s=round(max(w.pods / w.cpu_s for w in seen), 1) if windows else None,
        best_p99_us=round(min(w.p99_s for w in seen) * 1e6, 2) if windows else None,
    )


def _parts(pods: int, windows: int) -> list[tuple[int, int]]:
    """Parts of about the same size, none of them empty."""
    ends = sorted({pods * number // windows for number in range(1, windows + 1)} - {0})
    return list(zip([0, *ends], ends, strict=False))


def _at(cycles: Sequence[float], percentile: int) -> float:
    return cycles[len(cycles) * percentile // 100] if cycles else 0.0


def _arrive(engine: Engine, case: Case, pods: Sequence[Pod], numbers: range) -> None:
    for number in numbers:
        if case.churn is not None:
            case.churn(engine, number)
        engine.handle(PodAdded(pods[number]), 0.0)


def _prepared(case: Case, nodes: int) -> Engine:
    plans, registry = plans_with(case.policies, case.args, {})
    engine = Engine([msgspec.structs.replace(plan, adaptive=case.adaptive) for plan in plans], registry)
    for number in range(nodes):
        engine.handle(NodeAdded(case.make_node(number)), 0.0)
    for found in case.objects:
        engine.handle(ObjectAdded(found), 0.0)
    if case.make_first_pods is not None:
        count = case.first_pods * nodes // case.nodes if case.nodes > 1 else case.first_pods
        _schedule_all(engine, list(case.make_first_pods(count, nodes)))
    while case.rested and engine.catch_up():
        continue
    return engine


def _warm_up(engine: Engine, pods: list[Pod]) -> None:
    """Places pods like the measured ones, and takes them away again. Those evicted for them come back."""
    evicted = _schedule_all(engine, pods)
    for pod in pods:
        engine.handle(PodDeleted(pod), 0.0)
    for evict in evicted:
        engine.handle(PodAdded(evict.pod.on_node(evict.node)), 0.0)


def _schedule_all(engine: Engine, pods: list[Pod]) -> list[Evict]:
    evicted: list[Evict] = []
    for pod in pods:
        engine.handle(PodAdded(pod), 0.0)
    _drain(engine, [], [], evicted)
    return evicted


def _drain(
    engine: Engine, cycles: list[float], evicting: list[float], evicted: list[Evict] | None = None
) -> int:
    """Schedules until no pod is ready; returns how many were bound."""
    bound = 0
    while True:
        start, busy = perf_counter(), thread_time()
        decisions = engine.schedule(0.0)
        if decisions is None:
            return bound
        if decisions and type(decisions[0]) is Evict:
            evicting.append(thread_time() - busy)
        cycles.append(perf_counter() - start)
        bound += _confirm(engine, decisions, evicted)


def _confirm(engine: Engine, decisions: list[Decision], evicted: list[Evict] | None) -> int:
    """Binds are confirmed, evicted pods go at once."""
    bound = 0
    for decision in decisions:
        if type(decision) is Bind:
            engine.handle(Bound(decision.pod, decision.node), 0.0)
            bound += 1
        elif type(decision) is Evict and not decision.in_memory:
            engine.handle(PodDeleted(decision.pod), 0.0)
            if evicted is not None:
                evicted.append(decision)
    return bound


def _renamed(pod: Pod) -> Pod:
    name = f"warm-up-{pod.metadata.name}"
    meta = msgspec.structs.replace(pod.metadata, name=name, uid=name)
    return msgspec.structs.replace(pod, metadata=meta)
