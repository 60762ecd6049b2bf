"""A thousand swaps of plugins in random lives: no pod is lost, bound twice or judged by two tables."""

from __future__ import annotations

import random
from typing import Any

import pytest

from gangs.world import CONFIG, REGISTRY, World, random_steps
from mooring.app.making import make_engine
from mooring.config.load import SchedulerConfig, load_config
from mooring.engine.engine import Engine
from mooring.engine.events import NodeAdded, PodAdded
from mooring.engine.queue.queued_pod import Where
from mooring.framework.api.plugin import Plugin, PluginArgs
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Status, unschedulable, wait
from mooring.framework.loading.registry import Registry
from mooring.model.objects import Pod
from mooring.plugins.catalogue import make_registry

SWAPS, LIVES = 1000, 20  # swaps in all lives together
HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class Marked(Plugin):
    """Writes into a cycle which table it is of, and finds the same one at each point after."""

    scope = Scope.ROW
    broken: list[str] = []  # what must not have happened

    class Args(PluginArgs, frozen=True):
        table: int = 0

    def __init__(self, args: Args, handle: Any) -> None:
        super().__init__(args, handle)
        self.pods: dict[str, Pod] = {}

    def pre_filter(self, cycle: Any, pod: Pod) -> None:
        self._same(cycle, "pre_filter")

    def score(self, cycle: Any, pod: Pod, node: Any) -> int:
        return self.args.table % 2 * 50

    def reserve(self, cycle: Any, pod: Pod, node_name: str) -> None:
        self._same(cycle, "reserve")

    def permit(self, cycle: Any, pod: Pod, node_name: str) -> None:
        self._same(cycle, "permit")

    def unreserve(self, cycle: Any, pod: Pod, node_name: str) -> None:
        self._same(cycle, "unreserve")

    def pod_seen(self, pod: Pod) -> None:
        self.pods[pod.uid] = pod

    def pod_gone(self, pod: Pod) -> None:
        self.pods.pop(pod.uid, None)

    def _same(self, cycle: Any, point: str) -> None:
        marks = cycle.read("marks", {self.args.table})
        cycle.write("marks", marks | {self.args.table})
        if len(marks | {self.args.table}) > 1:
            self.broken.append(f"{point} of {self.name}: {marks} and {self.args.table}")


class AlsoMarked(Marked):
    """A second one, so that tables could get mixed up."""


def is_single(pod: Pod) -> bool:
    return not pod.metadata.annotations


class Gate(Plugin):
    """Holds back every other pod, and hears of nothing."""

    def pre_enqueue(self, pod: Pod) -> Status | None:
        return unschedulable("closed") if is_single(pod) and pod.name[-1] in "13579" else None

    def events(self) -> list[Any]:
        return []


class Waits(Plugin):
    """Has some pods wait at permit, and lets go of none."""

    class Args(PluginArgs, frozen=True):
        seconds: int = 30

    def reserve(self, cycle: Any, pod: Pod, node_name: str) -> None:
        return None

    def permit(self, cycle: Any, pod: Pod, node_name: str) -> Status | None:
        return wait(float(self.args.seconds)) if is_single(pod) else None


class Refuses(Plugin):
    """Lets no pod onto some nodes, and hears of nothing."""

    scope = Scope.STATIC

    class Args(PluginArgs, frozen=True):
        digits: str = ""

    def sign(self, pod: Pod) -> bool:
        return is_single(pod)

    def filter(self, cycle: Any, pod: Pod, node: Any) -> Status | None:
        return unschedulable("refused") if is_single(pod) and node.name[-1] in self.args.digits else None

    def events(self) -> list[Any]:
        return []


def registry() -> Registry:
    found = make_registry()
    for plugin in (Marked, AlsoMarked, Gate, Waits, Refuses):
        found.add(plugin, trusted=True)
    return found


POLICIES = registry()


def configured(draw: random.Random, number: int) -> SchedulerConfig:
    """Some plugins more or less, with some arguments and weights."""
    own = [name for name in ("Gate", "Waits", "Refuses") if draw.random() < 0.5]
    enabled = [f"{{name: {name}, weight: {draw.randint(1, 200)}}}" for name in ("Marked", "AlsoMarked", *own)]
    off = [name for name in ("DefaultPreemption", "ImageLocality", "NodeAffinity") if draw.random() < 0.3]
    disabled = [f"{{name: {name}}}" for name in off]
    args = [f"{{name: {name}, args: {{table: {number}}}}}" for name in ("Marked", "AlsoMarked")]
    if "Waits" in own:
        args.append(f"{{name: Waits, args: {{seconds: {draw.choice((10, 30))}}}}}")
    if "Refuses" in own:
        args.append(f"{{name: Refuses, args: {{digits: '{draw.choice(('02468', '13579'))}'}}}}")
    if draw.random() < 0.3:
        args.append(f"{{name: Coscheduling, args: {{defaultTimeout: {draw.choice((60, 90))}s}}}}")
    text = (
        f"{HEADER}profiles:\n- plugins: {{multiPoint: {{enabled: [{', '.join(enabled)}], "
        f"disabled: [{', '.join(disabled)}]}}}}\n  pluginConfig: [{', '.join(args)}]\n"
    )
    return load_config(text, "config.yaml", POLICIES)


class SwappedWorld(World):
    """Its scheduler has its plugins swapped."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.swaps = 0
        super().__init__(seed)

    def swap(self, config: SchedulerConfig | None = None) -> None:
        self.swaps += 1
        self.seen["swapped while pods were bound"] += bool(self.unanswered)
        self.seen["swapped while pods waited at permit"] += bool(self.engine.waiting)
        self.seen["swapped while pods were queued"] += len(self.engine.queue) > 0
        self.engine.check(afresh=True)
        config = config or configured(self.draw, self.swaps)
        registry = REGISTRY if config is CONFIG else POLICIES
        self._take(self.engine.swap(self.engine.table(config.profiles, registry), self.now))
        self._nobody_is_held_by_who_is_gone()
        self.engine.check(afresh=True)
        self.check()

    def _nobody_is_held_by_who_is_gone(self) -> None:
        plugins = self.engine.profiles["default-scheduler"].plugins
        for queued in self.engine.queue:
            assert queued.gating_plugin in ("", *plugins), "a gate that is gone holds a pod"
            assert queued.gating_plugin or queued.where is not Where.UNSCHEDULABLE, "a rejection holds a pod"
        for each in self.engine.waiting.values():
            for name in each.pending_plugins:
                assert plugins.get(name) is each.reserved.profile.plugins[name], "a pod waits for nobody"

    def check(self) -> None:
        super().check()
        engine = self.engine
        unbound = {uid for uid, each in self.pods.items() if not each.spec.node_name}
        queued = {queued.pod.uid for queued in engine.queue}
        assert queued | engine.binding.keys() >= unbound, "a pod is lost"
        assert not queued & engine.binding.keys(), "a pod is tried while it is being bound"
        assert queued <= unbound, "a pod that has its place, or is gone, is queued"
        for profile in engine.profiles.values():
            for plugin in profile.plugins.values():
                if isinstance(plugin, Marked):
                    assert plugin.pods.keys() == self.pods.keys(), "a plugin does not know what is there"

    def free(self, name: str) -> int:
        """The cpu that is free on a node."""
        taken = sum(each.request.cpu_milli for each in self._placed() if each.spec.node_name == name)
        return 1000 * int(self.nodes[name].status.allocatable["cpu"]) - taken

    def _start(self) -> Engine:
        config = configured(self.draw, self.swaps)
        engine = make_engine(config, POLICIES, seed=self.random.randrange(1000))
        for each in self.nodes.values():
            engine.handle(NodeAdded(each), self.now)
        for known in sorted(self.pods.values(), key=lambda known: known.uid):
            engine.handle(PodAdded(known), self.now)
        return engine


def lived(seed: int) -> SwappedWorld:
    world, draw = SwappedWorld(seed), random.Random(seed)
    for _ in range(3):
        world.add_node(draw.randint(2, 8))
    steps = random_steps(world, draw)
    while world.swaps < SWAPS // LIVES:
        draw.choices(steps, (2, 1, 2, 6, 3, 8, 6, 3, 0.2))[0]()
        if draw.random() < 0.4:
            world.swap()
    world.swap(CONFIG)
    world.settle()
    return world


@pytest.mark.parametrize("seed", range(LIVES))
def test_a_life_with_swaps_goes_on(seed: int) -> None:
    Marked.broken.clear()
    world = lived(seed)
    assert Marked.broken == []
    waiting = [each for each in world.pods.values() if not each.spec.node_name]
    room = max((world.free(name) for name in world.nodes), default=0)
    assert all(each.request.cpu_milli > room for each in waiting if is_single(each)), "a pod fits, and waits"
    assert world.seen["swapped while pods were bound"]
    assert world.seen["swapped while pods were queued"]


def test_lives_are_full_enough() -> None:
    assert sum(lived(seed).seen["swapped while pods waited at permit"] for seed in range(3)) > 10
