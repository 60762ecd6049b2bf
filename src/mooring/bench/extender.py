"""What an HTTP extender costs: one filter as a plugin and as an extender, side by side.

The extender runs in a process of its own on the loopback interface and is sent node names only, which
is the cheapest an extender can be. Pods come one at a time, as in a scheduler that waits for its
extenders, and then many at once, as the engine can have them: it goes on while extenders are asked.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter, process_time

from mooring.bench.case import node, pod, pod_spec
from mooring.bench.extender_server import CLOSED, is_closed
from mooring.bench.runner import ARRIVE_TOGETHER, Measured, Progress
from mooring.cluster.view import NodeView
from mooring.config.scheduler import Extender
from mooring.engine.decisions import Bind, Consult, Decision
from mooring.engine.engine import Engine
from mooring.engine.events import Bound, Consulted, Event, NodeAdded, PodAdded
from mooring.extender.client import ExtenderClient
from mooring.framework.cycle import Cycle
from mooring.framework.plugin import Plugin
from mooring.framework.scope import Scope
from mooring.framework.status import Status, unschedulable
from mooring.model.objects import Pod
from mooring.plugins.catalogue import plans_with

NAME = "Extender"
ABOUT = "one filter as a plugin and as an HTTP extender, side by side"
NODES, PODS, WARM_UP = 5000, 500, 20


class OpenNodes(Plugin):
    """The filter of the extender, as a plugin."""

    scope = Scope.STATIC

    def sign(self, pod: Pod) -> int:
        return 0

    def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> Status | None:
        return unschedulable(CLOSED) if is_closed(node.name) else None


class Run:
    """One engine, and the extenders it asks; counts the time spent in the engine itself."""

    def __init__(self, nodes: int, plugins: Sequence[type[Plugin]], extenders: Sequence[Extender]) -> None:
        plans, registry = plans_with(plugins, {}, {})
        self.engine = Engine(plans, registry, extenders=extenders)
        self.client = ExtenderClient(extenders)
        self.cycles: list[float] = []
        self.engine_s = 0.0
        self._started: dict[str, float] = {}
        for number in range(nodes):
            self.engine.handle(NodeAdded(node(number)), 0.0)

    async def place(self, pods: Sequence[Pod]) -> None:
        """Places pods that arrive together; extenders are asked about all of them at once."""
        decided: list[Decision] = []
        for wanted in pods:
            self._handle(PodAdded(wanted))
            decided += self._schedule(wanted)
        while decided:
            events = await asyncio.gather(*(self._perform(decision) for decision in decided))
            decided = [decision for event in events for decision in self._handle(event)]

    async def _perform(self, decision: Decision) -> Event:
        if isinstance(decision, Bind):
            self.cycles.append(perf_counter() - self._started.pop(decision.pod.uid))
            return Bound(decision.pod, decision.node)
        assert isinstance(decision, Consult), decision
        answer = await self.client.ask(decision.extender, decision.verb, decision.body)
        return Consulted(decision.pod, decision.extender, decision.verb, decision.number, answer)

    def _handle(self, event: Event) -> list[Decision]:
        start = perf_counter()
        decided = self.engine.handle(event, 0.0)
        self.engine_s += perf_counter() - start
        return decided

    def _schedule(self, wanted: Pod) -> list[Decision]:
        start = self._started[wanted.uid] = perf_counter()
        decided = self.engine.schedule(0.0) or []
        self.engine_s += perf_counter() - start
        return decided


def run_extender(nodes: int, pods: int, progress: Progress | None = None) -> list[Measured]:
    """The plugin, the extender a pod at a time, the extender with many pods at once."""
    with _server() as url:
        extender = Extender(url_prefix=url, filter_verb="filter", node_cache_capable=True)
        variants: list[tuple[str, int, list[type[Plugin]], list[Extender]]] = [
            ("plugin", 1, [OpenNodes], []),
            ("HTTP", 1, [], [extender]),
            (f"HTTP x{ARRIVE_TOGETHER}", ARRIVE_TOGETHER, [], [extender]),
        ]
        measured = []
        for number, (name, together, plugins, extenders) in enumerate(variants):
            run = Run(nodes, plugins, extenders)
            measured.append(asyncio.run(_measure(f"{NAME} {name}", run, nodes, pods, together)))
            if progress is not None:
                progress((number + 1) * pods // len(variants), pods)
        return measured


async def _measure(name: str, run: Run, nodes: int, pods: int, together: int) -> Measured:
    spec = pod_spec()
    wanted = [pod(f"pod-{number}", spec) for number in range(pods)]
    async with run.client:
        await run.place([pod(f"warm-up-{number}", spec) for number in range(WARM_UP)])
        gc.collect()
        run.cycles.clear()
        run.engine_s = 0.0
        wall, cpu = perf_counter(), process_time()
        for start in range(0, pods, together):
            await run.place(wanted[start : start + together])
        wall, cpu = perf_counter() - wall, process_time() - cpu
    run.cycles.sort()
    return Measured(
        case=name,
        nodes=nodes,
        pods=pods,
        bound=len(run.cycles),
        pods_per_s=round(pods / wall, 1),
        cpu_us_per_pod=round(cpu / pods * 1e6, 2),
        p50_us=round(run.cycles[len(run.cycles) // 2] * 1e6, 2),
        p99_us=round(run.cycles[len(run.cycles) * 99 // 100] * 1e6, 2),
        peak_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        us_per_pod=round(wall / pods * 1e6, 2),
        extender_share=round(1 - run.engine_s / wall, 3) if run.engine.extenders else 0.0,
    )


@contextmanager
def _server() -> Iterator[str]:
    """The address of an extender in a process of its own, which ends with the block."""
    line = [sys.executable, "-m", "mooring.bench.extender_server"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
            process.wait(10)
