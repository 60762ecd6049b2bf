"""A simulation tells what production tells of pods that wait; every test's simulations are looked at."""

from __future__ import annotations

from engine.stage import BUILT_IN, Stage, made
from mooring.framework.api.status import unschedulable, wait
from mooring.plugins.coscheduling import Coscheduling
from mooring.sim.simulation import Simulation
from sim.silence import silent_pods
from sim.test_simulation import node, pod, read

GANG = "gang.scheduling.koordinator.sh/name: g, gang.scheduling.koordinator.sh/min-available: '2'"
CONTAINERS = "containers: [{name: c}]"
MEMBER = (
    f"{{apiVersion: v1, kind: Pod, metadata: {{name: w0, annotations: {{{GANG}}}}}, "
    f"spec: {{{CONTAINERS}}}}}\n---\n"
)
GATED = (
    "{apiVersion: v1, kind: Pod, metadata: {name: gated}, "
    f"spec: {{schedulingGates: [{{name: quota}}], {CONTAINERS}}}}}\n---\n"
)
Holds = made(
    "Holds",
    pre_enqueue=lambda self, pod: unschedulable("no quota") if pod.name == "quota" else None,
    permit=lambda self, cycle, pod, node_name: wait(3600, "not yet") if pod.name == "permit" else None,
    events=lambda self: (),
)


def simulation(until: float | None = None) -> Simulation:
    text = node("n") + pod("quota") + pod("permit") + GATED + MEMBER
    stage = Stage(Coscheduling, Holds, base=BUILT_IN)
    return Simulation(stage.engine, read(text), until=until)


def test_whatever_holds_a_pod_it_says_so() -> None:
    run = simulation(until=1.0)
    result = run.run()
    assert silent_pods(run) == []
    said = {key: waiting.message for key, waiting in result.pending.items()}
    assert said == {
        "default/quota": "no quota",
        "default/permit": "has a place on node n and waits for permission: plugin Holds holds it: not yet",
        "default/gated": "Scheduling is blocked due to non-empty scheduling gates",
        "default/w0": "gang default/g: needs 2 pods; 1 is there, 1 is missing",
    }
    conditions = {
        each.key: (condition.reason, condition.message)
        for each in run.world.pods.values()
        for condition in each.status.conditions
    }
    assert {key: message for key, (_, message) in conditions.items()} == said
    assert {reason for reason, _ in conditions.values()} == {"HeldBack", "WaitingAtPermit", "SchedulingGated"}


def test_silence_is_found() -> None:
    run = simulation(until=0.1)
    run.run()
    assert sorted(silent_pods(run)) == [
        "default/permit has no condition",
        "default/quota has no condition",
        "default/w0 has no condition",
        "no Event is about default/gated",
        "no Event is about default/permit",
        "no Event is about default/quota",
        "no Event is about default/w0",
    ]
