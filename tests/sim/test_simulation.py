from __future__ import annotations

from types import SimpleNamespace

import pytest

from mooring.engine.pod_words import Words
from mooring.errors import ApiError
from mooring.sim.result import PendingPod
from mooring.sim.simulation import Simulation

from .conftest import read
from .first_fit import FirstFit

GATED = "Scheduling is blocked due to non-empty scheduling gates"


def node(name: str, cpu: int = 2, annotations: str = "") -> str:
    meta = f"name: {name}, annotations: {{{annotations}}}"
    return (
        f"{{apiVersion: v1, kind: Node, metadata: {{{meta}}}, status: {{capacity: {{cpu: {cpu}}}}}}}\n---\n"
    )


def pod(name: str, cpu: int = 1, annotations: str = "", spec: str = "", kind: str = "Pod") -> str:
    meta = f"metadata: {{name: {name}, annotations: {{{annotations}}}}}"
    container = f"containers: [{{name: c, resources: {{requests: {{cpu: {cpu}}}}}}}]"
    return f"{{apiVersion: v1, kind: {kind}, {meta}, spec: {{{container}, {spec}}}}}\n---\n"


def at(time: str) -> str:
    return f"sim.mooring.io/arrives-at: {time}, "


def lasts(time: str) -> str:
    return f"sim.mooring.io/runs-for: {time}, "


def simulate(text: str, engine: FirstFit | None = None, **options: object) -> Simulation:
    simulation = Simulation(engine or FirstFit(), read(text), **options)  # type: ignore[arg-type]
    simulation.run()
    return simulation


def test_pods_find_their_place() -> None:
    result = simulate(node("n") + node("m") + pod("a", 2) + pod("b")).result()
    assert result.placements == {"default/a": "n", "default/b": "m"}
    assert result.pending == {}
    assert (result.summary.nodes, result.summary.pods, result.summary.bound) == (2, 2, 2)
    assert result.summary.end_time_s == 0.0


def test_pods_that_do_not_fit_are_pending() -> None:
    result = simulate(node("n") + pod("a", 3)).result()
    assert result.pending == {"default/a": PendingPod("0/1 nodes are available.", ("FirstFit",), None)}
    assert result.summary.pending == 1


def test_no_node_at_all_is_fine() -> None:
    assert list(simulate(pod("a")).result().pending) == ["default/a"]


def test_pods_take_turns() -> None:
    simulation = simulate(node("n") + pod("a", 2, lasts("30s")) + pod("b", 2, lasts("10s")))
    result = simulation.result()
    assert result.placements == {"default/a": "n", "default/b": "n"}
    assert result.summary.end_time_s == 40.0


def test_arrivals_have_their_time() -> None:
    engine = FirstFit()
    simulate(pod("a", 1, at("20s")) + node("n", 2, at("5s")), engine)
    arrivals = [each for each in engine.heard if each[1] in ("NodeAdded", "PodAdded")]
    assert arrivals == [(5.0, "NodeAdded"), (20.0, "PodAdded")]


def test_bound_is_told_before_the_echo() -> None:
    engine = FirstFit()
    simulate(node("n") + pod("a"), engine)
    assert [name for _, name in engine.heard if name != "ObjectAdded"] == [
        "NodeAdded", "PodAdded", "Bound", "PodChanged",
    ]  # fmt: skip


def test_nodes_and_running_pods_come_before_the_rest() -> None:
    engine = FirstFit()
    simulate(pod("a") + pod("b", 2, spec="nodeName: n") + node("n"), engine)
    assert next(iter(engine.pods.values())).name == "b"
    assert next(iter(engine.waiting_pods.values())).name == "a"


def test_a_running_pod_waits_for_its_node() -> None:
    result = simulate(pod("a", spec="nodeName: n") + node("n", 2, at("5s"))).result()
    assert result.placements == {"default/a": "n"}
    assert result.summary.end_time_s == 5.0


def test_running_and_finished_pods_have_placements() -> None:
    text = node("n") + pod("a", spec="nodeName: n")
    text += (
        "{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {nodeName: n}, status: {phase: Succeeded}}"
    )
    result = simulate(text).result()
    assert result.placements == {"default/a": "n", "default/b": "n"}
    assert result.summary.pods == 2


def test_pods_of_other_schedulers_are_left_alone() -> None:
    result = simulate(node("n") + pod("a", spec="schedulerName: other")).result()
    assert (result.placements, result.pending, result.summary.pods) == ({}, {}, 1)


def test_gated_pods_are_pending() -> None:
    result = simulate(node("n") + pod("a", spec="schedulingGates: [{name: g}]")).result()
    assert result.pending == {"default/a": PendingPod(GATED, ("SchedulingGates",), None)}


HIGH = "{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 9}\n---\n"


def test_evicted_pods_lose_their_placement() -> None:
    text = HIGH + node("n") + pod("low", 2) + pod("high", 2, at("5s"), "priorityClassName: high")
    simulation = simulate(text, FirstFit(preempts=True))
    result = simulation.result()
    assert result.placements == {"default/high": "n"}
    assert result.evicted == ("default/low",)
    high = simulation.world.pods["default/high"]
    assert high.status.nominated_node_name == ""
    notes = [event.message for event in simulation.world.events if event.reason == "Preempted"]
    assert notes == [f"Preempted by pod {high.uid} on node n"]


def test_evicted_pods_take_their_grace() -> None:
    text = HIGH + node("n") + pod("low", 2, "", "terminationGracePeriodSeconds: 30")
    text += pod("high", 2, at("5s"), "priorityClassName: high")
    result = simulate(text, FirstFit(preempts=True)).result()
    assert result.placements == {"default/high": "n"}
    assert result.summary.end_time_s == 35.0


def test_a_nominated_pod_says_so() -> None:
    text = HIGH + node("n") + pod("low", 2, "", "terminationGracePeriodSeconds: 30")
    text += pod("high", 2, at("5s"), "priorityClassName: high")
    result = simulate(text, FirstFit(preempts=True), until=10.0).result()
    assert result.pending["default/high"].nominated == "n"
    assert result.placements == {}
    assert result.summary.end_time_s == 10.0


def test_evicted_pods_of_a_stateful_set_may_be_placed_again() -> None:
    stateful = "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {template: {spec: "
    stateful += "{containers: [{name: c, resources: {requests: {cpu: 2}}}]}}}}\n---\n"
    text = HIGH + node("n") + stateful + pod("high", 2, at("5s") + lasts("10s"), "priorityClassName: high")
    result = simulate(text, FirstFit(preempts=True)).result()
    assert result.evicted == ("default/db-0",)
    assert result.placements == {"default/db-0": "n", "default/high": "n"}
    assert result.summary.end_time_s == 15.0


def test_endless_retries_do_not_keep_a_run_alive() -> None:
    engine = FirstFit(retry_every=10.0)
    result = simulate(node("n") + pod("big", 9) + pod("a", 1, at("30s")), engine).result()
    assert result.summary.end_time_s == 30.0
    assert engine.attempts["default/big"] <= 3


def test_every_pod_is_tried_again_after_the_last_change() -> None:
    """A pod that was tried before another was bound gets one more chance, at no cost of time."""
    engine = FirstFit(retry_every=300.0)
    result = simulate(node("n") + pod("big", 9) + pod("a"), engine).result()
    assert engine.attempts["default/big"] == 2
    assert result.summary.end_time_s == 0.0


def test_pods_at_permit_do_not_keep_a_run_alive_for_ever() -> None:
    class Undecided(FirstFit):
        """Lets its only pod wait for permission, over and over."""

        def schedule(self, now: float) -> None:
            for uid, waiting in self.ready.items():
                self.waiting[uid] = SimpleNamespace(pod=waiting, node_name="n", pending_plugins=("Gang",))

        def waits_for(self, uid: str) -> Words | None:
            return Words("WaitingAtPermit", "waits for the others", ("Gang",)) if self.waiting else None

        def wake_at(self) -> float:
            return self.now + 60.0

    result = simulate(node("n") + pod("a"), Undecided()).result()
    assert result.pending == {"default/a": PendingPod("waits for the others", ("Gang",), None)}
    assert result.summary.end_time_s == 0.0


def test_a_taken_name_is_not_taken_twice() -> None:
    stateful = "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {}}\n---\n"
    simulation = simulate(node("n") + stateful + pod("db-0", 1, at("5s")))
    assert list(simulation.result().placements) == ["default/db-0"]
    reasons = [event.reason for event in simulation.world.events]
    assert reasons == ["Scheduled", "FailedCreate"]


def test_a_stateful_set_leaves_the_pods_of_others_alone() -> None:
    stateful = "{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: db}, spec: {replicas: 2}}\n---\n"
    result = simulate(node("n") + pod("db-0") + stateful).result()
    assert list(result.placements) == ["default/db-0"]


def test_until_stops_the_run() -> None:
    text = node("n") + pod("a", 1, lasts("1h")) + pod("b", 1, at("30s"))
    result = simulate(text, until=20.0).result()
    assert list(result.placements) == ["default/a"]
    assert result.summary.end_time_s == 20.0


def test_a_node_that_leaves_takes_its_pods() -> None:
    text = node("n", 2, "sim.mooring.io/leaves-at: 10s") + pod("a")
    result = simulate(text).result()
    assert result.placements == {}
    assert result.evicted == ()
    assert (result.summary.nodes, result.summary.end_time_s) == (1, 10.0)


def test_a_failed_bind_is_reported_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*pod_and_node: str, uid: str) -> None:
        raise ApiError(500, "the disk is full")

    engine = FirstFit()
    simulation = Simulation(engine, read(node("n") + pod("a")))
    monkeypatch.setattr(simulation.world, "bind", refuse)
    result = simulation.run()
    assert "BindFailed" in [name for _, name in engine.heard]
    assert result.pending["default/a"].message == 'running Bind plugin "DefaultBinder": the disk is full'


def test_patches_and_scores_are_kept() -> None:
    engine = FirstFit()
    engine.patch = {"metadata": {"annotations": {"device": "0"}}}
    simulation = simulate(node("n") + node("m") + pod("a"), engine, scores=True)
    result = simulation.result()
    assert result.patches == {"default/a": engine.patch}
    assert result.scores == {"default/a": {"n": 100, "m": 100}}
    assert simulation.world.pods["default/a"].annotations["device"] == "0"


def test_conditions_and_events_tell_why_a_pod_waits() -> None:
    simulation = simulate(node("n") + pod("a", 9))
    [condition] = simulation.world.pods["default/a"].status.conditions
    assert (condition.type, condition.status, condition.reason, condition.message) == (
        "PodScheduled", "False", "Unschedulable", "0/1 nodes are available.",
    )  # fmt: skip
    [event] = simulation.world.events
    assert (event.type, event.reason, event.action) == ("Warning", "FailedScheduling", "Scheduling")


def test_progress_counts_pods() -> None:
    seen: list[tuple[int, int]] = []
    simulate(node("n") + pod("a") + pod("b") + pod("c", 9), progress=lambda *each: seen.append(each))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_names_depend_on_the_seed_alone() -> None:
    text = (
        node("n", 9) + "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 3}}"
    )
    first, again, other = (simulate(text, seed=seed).result().placements for seed in (1, 1, 2))
    assert first == again
    assert first.keys() != other.keys()


def test_a_run_of_real_objects_starts_after_them() -> None:
    text = node("n") + (
        "{apiVersion: v1, kind: Pod, metadata: {name: a, creationTimestamp: '2026-01-01T00:00:00Z'}, "
        "spec: {nodeName: n}, status: {phase: Running, startTime: '2026-01-01T00:00:05Z'}}\n---\n"
    )
    simulation = simulate(text + pod("b", 1, at("10s")))
    assert simulation.world.pods["default/a"].status.start_time == "2026-01-01T00:00:05Z"
    assert simulation.world.pods["default/b"].status.start_time == "2026-01-01T00:00:16Z"
    assert simulation.result().summary.end_time_s == 10.0


def test_namespaces_in_use_exist() -> None:
    simulation = simulate(node("n") + pod("a"))
    found = simulation.world.store.object("Namespace", "default")
    assert found.metadata.labels == {"kubernetes.io/metadata.name": "default"}


@pytest.mark.parametrize("until", [None, 100.0])
def test_nothing_to_do_is_over_at_once(until: float | None) -> None:
    assert simulate(node("n"), until=until).result().summary.end_time_s == 0.0
