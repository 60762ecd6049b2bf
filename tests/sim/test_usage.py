from __future__ import annotations

from mooring.sim.clock import Clock
from mooring.sim.history import History
from mooring.sim.usage import KEPT_SAMPLES, Usage
from mooring.sim.world.world import World

from .builders import node, pod


def test_what_pods_take_and_give_back(world: World, clock: Clock) -> None:
    history = History({"default-scheduler"})
    world.subscribe(history.hear)
    world.create_node(node("n"))
    world.create_pod(pod("a", cpu="1500m"))
    world.bind("default/a", "n")
    use = history.usage.nodes["n"]
    assert (use.used, use.placed) == ({"cpu": 1500, "memory": 0, "pods": 1}, 1)
    world.delete_pod("default/a")
    assert use.used == {"cpu": 0, "memory": 0, "pods": 0}
    assert use.peak == {"cpu": 1500, "memory": 0, "pods": 1}
    assert history.usage.capacity["cpu"] == 4000


def test_nodes_change_and_leave(world: World) -> None:
    history = History(())
    world.subscribe(history.hear)
    world.create_node(node("n"))
    world.patch("Node", "n", {"status": {"allocatable": {"cpu": "6"}}})
    assert history.usage.capacity["cpu"] == 6000
    world.delete_node("n")
    assert history.usage.capacity["cpu"] == 0
    assert history.usage.nodes["n"].left


def test_samples_are_bounded_and_keep_both_ends() -> None:
    usage = Usage()
    for second in range(5000):
        usage.sample(float(second), pending=second)
    assert len(usage.samples) <= KEPT_SAMPLES
    assert (usage.samples[0].time, usage.samples[-1].time) == (0.0, 4999.0)
    times = [sample.time for sample in usage.samples]
    assert times == sorted(times)
