"""What an HTTP extender costs: one filter as a plugin and as an extender, side by side.

The extender runs in a process of its own on the loopback interface and is sent node names only, which
is the cheapest an extender can be. Pods come one at a time, as in a scheduler that waits for its
extenders, and then many at once, as the engine can have them: it goes on while extenders are asked.
Rounds without the filter, in between, say what share of a cycle is the filter's.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from time import perf_counter, process_time

from mooring.bench.case import ARRIVE_TOGETHER, node, pod, pod_spec
from mooring.bench.extender_server import CLOSED, is_closed
from mooring.bench.runner import Measured, Progress
from mooring.cluster.view import NodeView
from mooring.config.scheduler import Extender
from mooring.engine.decisions import Bind, Consult, Decision
from mooring.engine.engine import Engine
from mooring.engine.events import Bound, Consulted, Event, NodeAdded, PodAdded
from mooring.extender.client import ExtenderClient
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Status, unschedulable
from mooring.model.objects import Pod
from mooring.plugins.catalogue import plans_with

NAME = "Extender"
ABOUT = "one filter as a plugin and as an HTTP extender, side by side"
NODES, PODS, WARM_UP, ROUNDS = 5000, 1000, 20, 25


class OpenNodes(Plugin):
    """The filter of the extender, as a plugin."""

    scope = Scope.STATIC

    def sign(self, pod: Pod) -> int:
        return 0

    def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> Status | None:
        return unschedulable(CLOSED) if is_closed(node.name) else None


class Run:
    """One engine, and the extenders it asks."""

    def __init__(self, nodes: int, plugins: Sequence[type[Plugin]], extenders: Sequence[Extender]) -> None:
        plans, registry = plans_with(plugins, {}, {})
        self.engine = Engine(plans, registry, extenders=extenders)
        self.client = ExtenderClient(extenders)
        self.cycles: list[float] = []
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
        return self.engine.handle(event, 0.0)

    def _schedule(self, wanted: Pod) -> list[Decision]:
        self._started[wanted.uid] = perf_counter()
        return self.engine.schedule(0.0) or []


class Variant:
    """One way to have the filter, measured in several rounds; the best round counts."""

    def __init__(
        self, name: str, nodes: int, together: int, plugin: type[Plugin] | None, extender: Extender | None
    ) -> None:
        self.name = name
        self._nodes = nodes
        self._together = together
        self._pods = 0
        self._wall_s: list[float] = []  # a pod, by round
        self._cpu_s: list[float] = []
        self._spec = pod_spec()
        self.run = Run(nodes, [plugin] if plugin else [], [extender] if extender else [])

    async def warm_up(self) -> None:
        await self.run.place(self._wanted("warm-up", WARM_UP))
        self.run.cycles.clear()

    async def round(self, pods: int) -> None:
        wanted = self._wanted(f"pod-{len(self._wall_s)}", pods)
        gc.collect()
        wall, cpu = perf_counter(), process_time()
        for start in range(0, pods, self._together):
            await self.run.place(wanted[start : start + self._together])
        self._wall_s.append((perf_counter() - wall) / pods)
        self._cpu_s.append((process_time() - cpu) / pods)
        self._pods += pods

    @property
    def us_per_pod(self) -> float:
        return min(self._wall_s) * 1e6

    def measured(self, without_us: float) -> Measured:
        """`without_us` is what a pod costs without the filter: what is beyond it is the filter's."""
        cycles = sorted(self.run.cycles)
        return Measured(
            case=f"{NAME} {self.name}",
            nodes=self._nodes,
            pods=self._pods,
            bound=len(cycles),
            pods_per_s=round(1e6 / self.us_per_pod, 1),
            cpu_us_per_pod=round(min(self._cpu_s) * 1e6, 2),
            p50_us=round(cycles[len(cycles) // 2] * 1e6, 2),
            p99_us=round(cycles[len(cycles) * 99 // 100] * 1e6, 2),
            peak_mb=round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
            us_per_pod=round(self.us_per_pod, 2),
            extender_share=round(max(0.0, 1 - without_us / self.us_per_pod), 3),
        )

    def _wanted(self, name: str, count: int) -> list[Pod]:
        return [pod(f"{name}-{number}", self._spec) for number in range(count)]


def run_extender(nodes: int, pods: int, progress: Progress | None = None) -> list[Measured]:
    """Without the filter, with it as a plugin, as an extender a pod at a time, and with many pods at once."""
    with _server() as url:
        extender = Extender(url_prefix=url, filter_verb="filter", node_cache_capable=True)
        variants = [
            Variant("none", nodes, 1, None, None),
            Variant("plugin", nodes, 1, OpenNodes, None),
            Variant("HTTP", nodes, 1, None, extender),
            Variant(f"HTTP x{ARRIVE_TOGETHER}", nodes, ARRIVE_TOGETHER, None, extender),
        ]
        asyncio.run(_play(variants, pods, progress))
    without_us = variants[0].us_per_pod
    return [variant.measured(without_us) for variant in variants]


async def _play(variants: Sequence[Variant], pods: int, progress: Progress | None) -> None:
    """Rounds in turn, so that whatever else the machine does hits all of them."""
    async with AsyncExitStack() as stack:
        for variant in variants:
            await stack.enter_async_context(variant.run.client)
            await variant.warm_up()
        for number in range(ROUNDS):
            count = pods * (number + 1) // ROUNDS - pods * number // ROUNDS
            for variant in variants if count else ():
                await variant.round(count)
            if progress is not None:
                progress(pods * (number + 1) // ROUNDS, pods)


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
