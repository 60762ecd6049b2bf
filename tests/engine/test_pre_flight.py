"""Before a bind that takes time: who has something to do, and where the pod is expected to run."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from engine.stage import BUILT_IN, Stage, made, pod
from mooring.config.feature_gates import FeatureGates
from mooring.engine.decisions import Bind, Nominate, Wait
from mooring.framework.api.status import SKIP, Code, Status, error, unschedulable, wait
from mooring.framework.running.binding import run_binding
from mooring.model.objects import Pod
from mooring.sim.world.binding_api import run_to_end


class Quiet:
    """An API server that does everything."""

    async def bind(self, pod: Pod, node_name: str) -> None: ...


def binds(name: str, answer: Any) -> type:
    """Says of every pod, before the bind, whether there is something to do; writes down what it did."""

    async def pre_bind(self: Any, cycle: Any, pod: Pod, node_name: str) -> None:
        self.did = [*getattr(self, "did", []), pod.name]

    def pre_bind_pre_flight(self: Any, cycle: Any, pod: Pod, node_name: str) -> Any:
        return answer

    return made(name, pre_bind=pre_bind, pre_bind_pre_flight=pre_bind_pre_flight)


def carried_out(stage: Stage, bind: Any) -> None:
    stage.engine.attach(Quiet())  # type: ignore[arg-type]
    assert isinstance(bind, Bind)
    state = stage.engine.binding_state(bind)
    assert state is not None
    run_to_end(run_binding(state.profile, state.cycle, bind.pod, bind.node, bind.patch, Quiet()))  # type: ignore[arg-type]


def attempt(stage: Stage, wanted: Pod) -> Any:
    stage.add(wanted)
    return stage.cycle()


def test_a_plugin_that_will_act_has_the_pod_nominated_first() -> None:
    stage = Stage(binds("Acts", None), binds("Rests", SKIP)).nodes("n")
    nominate, bind = attempt(stage, p := pod("p"))
    assert nominate == Nominate(p, "n")
    carried_out(stage, bind)
    assert stage.plugin("Acts").did == ["p"]
    assert not hasattr(stage.plugin("Rests"), "did")


def test_nobody_is_told_when_nothing_is_to_be_done() -> None:
    stage = Stage(binds("Rests", SKIP)).nodes("n")
    (bind,) = attempt(stage, pod("p"))
    carried_out(stage, bind)
    assert not hasattr(stage.plugin("Rests"), "did")


def test_a_plugin_that_does_not_say_acts_without_a_word() -> None:
    async def pre_bind(self: Any, cycle: Any, pod: Pod, node_name: str) -> None:
        self.did = True

    stage = Stage(made("Old", pre_bind=pre_bind)).nodes("n")
    (bind,) = attempt(stage, pod("p"))
    carried_out(stage, bind)
    assert stage.plugin("Old").did


def test_a_pod_that_is_nominated_there_already_is_not_nominated_again() -> None:
    stage = Stage(binds("Acts", None)).nodes("n")
    (bind,) = attempt(stage, pod("p", nominated="n"))
    assert isinstance(bind, Bind)


def test_a_pod_that_waits_at_permit_is_nominated() -> None:
    holds = made("Holds", permit=lambda self, cycle, pod, node_name: wait(60.0))
    stage = Stage(holds).nodes("n")
    p = pod("p")
    assert attempt(stage, p) == [Nominate(p, "n")]
    stage.engine.waiting[p.uid].allow("Holds")
    (bind,) = stage.tick()
    assert isinstance(bind, Bind)


def test_only_with_the_gate() -> None:
    gates = FeatureGates({"NominatedNodeNameForExpectation": False})
    stage = Stage(binds("Acts", None), base=BUILT_IN, gates=gates).nodes("n")
    (bind,) = attempt(stage, pod("p"))
    carried_out(stage, bind)
    assert stage.plugin("Acts").did == ["p"]


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (error("no"), "no"),
        (unschedulable("full"), "full"),
        (Status(Code.WAIT), ""),
        (7, "7"),
    ],
    ids=["error", "unschedulable", "wait", "number"],
)
def test_anything_else_is_an_error(answer: Any, what: str) -> None:
    undone: list[str] = []
    reserves = made(
        "Reserves",
        reserve=lambda self, cycle, pod, node_name: None,
        unreserve=lambda self, cycle, pod, node_name: undone.append(pod.name),
    )
    stage = Stage(binds("Bad", answer), reserves).nodes("n")
    refusal = stage.wait(p := pod("p"))
    assert isinstance(refusal, Wait)
    assert refusal.reason == "SchedulerError"
    assert refusal.message.startswith('running PreBindPreFlight plugin "Bad": ')
    assert what in refusal.message
    assert (stage.holds(p), undone) == ("", ["p"])


def test_the_nomination_is_taken_back_when_the_bind_fails() -> None:
    """The API server shows the nomination while the pod is being bound: it holds no second place."""
    stage = Stage(binds("Acts", None)).nodes("n")
    _, bind = attempt(stage, p := pod("p", "3"))
    shown = msgspec.structs.replace(p, status=msgspec.structs.replace(p.status, nominated_node_name="n"))
    assert stage.change(shown) == []
    assert not stage.engine.nominator
    (refusal,) = stage.bind_failed(bind)
    assert isinstance(refusal, Wait)
    assert refusal.nominated == ""
    assert not stage.engine.nominator
