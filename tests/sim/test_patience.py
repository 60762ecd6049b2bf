"""What time alone brings happens in a run as it would in a cluster, and does not keep it going for ever."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import Stage, made
from mooring.app.making import make_engine, read_config
from mooring.framework.api.status import unschedulable, wait
from mooring.plugins.catalogue import make_registry
from mooring.sim.result import Result
from mooring.sim.simulation import Simulation
from sim.test_simulation import at, node, pod, read

WAIT_S = 1200  # longer than anything that is waited for whoever waits


def run(*plugins: type, text: str) -> Result:
    stage = Stage(*plugins)
    result = Simulation(stage.engine, read(text)).run()
    stage.engine.check()
    return result


def run_gangs(text: str) -> Simulation:
    registry = make_registry()
    simulation = Simulation(make_engine(read_config(None, registry), registry), read(text))
    simulation.run()
    return simulation


def gang(least: int) -> str:
    meta = "apiVersion: scheduling.x-k8s.io/v1alpha1, kind: PodGroup, metadata: {name: g, namespace: default}"
    return f"{{{meta}, spec: {{minMember: {least}, scheduleTimeoutSeconds: {WAIT_S}}}}}\n---\n"


def member(name: str, cpu: int, spec: str = "", status: str = "") -> str:
    meta = f"metadata: {{name: {name}, labels: {{scheduling.x-k8s.io/pod-group: g}}}}"
    asked = f"containers: [{{name: c, image: i, resources: {{requests: {{cpu: {cpu}}}}}}}]"
    return f"{{apiVersion: v1, kind: Pod, {meta}, spec: {{{asked}, {spec}}}, status: {{{status}}}}}\n---\n"


def test_the_time_of_a_gang_is_up() -> None:
    simulation = run_gangs(node("n", 4) + gang(2) + member("a", 3) + member("b", 3))
    told = [(event.time, event.message) for event in simulation.world.events if "it has had" in event.message]
    assert [time for time, _ in told] == [WAIT_S]
    result = simulation.result()
    assert "it has had all its pods for 20m0s" in result.gangs["default/g"].message
    assert result.summary.end_time_s == 0.0


def test_a_gang_that_is_not_complete_gives_its_places_back() -> None:
    running = member("a", 3, "nodeName: n", 'phase: Running, startTime: "2026-01-01T00:00:00Z"')
    result = run_gangs(node("n", 4) + gang(2) + running + member("b", 3)).result()
    assert result.evicted == ("default/a",)


def test_a_plugin_that_fails_once_costs_a_back_off() -> None:
    def pre_filter(self: Any, cycle: Any, pod: Any) -> None:
        self.tries = getattr(self, "tries", 0) + 1
        if self.tries < 3:
            raise RuntimeError("not yet")

    result = run(made("Flaky", pre_filter=pre_filter), text=node("n") + pod("a"))
    assert result.placements == {"default/a": "n"}
    assert result.summary.end_time_s > 0.0


def test_a_bind_that_fails_once_is_tried_again() -> None:
    async def pre_bind(self: Any, cycle: Any, pod: Any, node_name: str) -> None:
        self.tries = getattr(self, "tries", 0) + 1
        if self.tries < 2:
            raise RuntimeError("not yet")

    result = run(made("Flaky", pre_bind=pre_bind), text=node("n") + pod("a"))
    assert result.placements == {"default/a": "n"}


def test_a_plugin_that_always_fails_ends() -> None:
    def pre_filter(self: Any, cycle: Any, pod: Any) -> None:
        raise RuntimeError("never")

    result = run(made("Bad", pre_filter=pre_filter), text=node("n") + pod("a") + pod("b", 1, at("10m")))
    assert result.summary.pending == 2
    assert not result.stopped


def test_a_plugin_that_wants_to_be_woken_is() -> None:
    def follow_up(self: Any) -> None:
        if self.handle.now >= 5000.0 and not self.open:
            self.open = True
            self.handle.activate([self.waiting])

    def pre_filter(self: Any, cycle: Any, pod: Any) -> Any:
        self.waiting = pod
        return None if self.open else unschedulable("closed until 5000 s")

    def wake_at(self: Any) -> float | None:
        return None if self.open else 5000.0

    timed = made("Timed", open=False, follow_up=follow_up, pre_filter=pre_filter, wake_at=wake_at)
    result = run(timed, text=node("n") + pod("a"))
    assert result.placements == {"default/a": "n"}
    assert result.summary.end_time_s == 5000.0


@pytest.mark.parametrize("moment", [0.0, 1.0, float("nan")])
def test_a_plugin_that_always_wants_to_be_woken_ends(moment: float) -> None:
    woken = made("Bad", wake_at=lambda self: self.handle.now + moment, filter=lambda *_: unschedulable("no"))
    result = run(woken, text=node("n") + pod("a"))
    assert result.summary.pending == 1
    assert result.summary.end_time_s == 0.0


def test_a_permit_that_ends_is_waited_for() -> None:
    held = made("Held", permit=lambda self, cycle, pod, node_name: wait(700.0))
    result = run(held, text=node("n") + pod("a"))
    assert "11m40s" in result.pending["default/a"].message
