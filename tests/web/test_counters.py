"""What an engine with a meter counts, read the way Prometheus reads it."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import BUILT_IN, bad, erring, made, node, pod
from mooring.engine.decisions import Bind, Evict
from mooring.engine.events import PodDeleted
from mooring.framework.api.status import Code, Status
from mooring.framework.running.binding import BindingFailed, run_binding
from mooring.plugins.preemption import DefaultPreemption
from web.shown import metered, scrape

PROFILE = 'profile="default-scheduler"'


def attempts(stage: Any, result: str) -> float:
    return scrape(stage).get(f'scheduler_schedule_attempts_total{{{PROFILE},result="{result}"}}', 0)


def test_a_pod_that_is_bound() -> None:
    stage, _ = metered()
    stage.nodes("a")
    decision = stage.try_pod(pod("web"))
    assert attempts(stage, "scheduled") == 0  # it is not bound yet
    stage.bound(decision)  # type: ignore[arg-type]
    found = scrape(stage)
    assert found[f'scheduler_schedule_attempts_total{{{PROFILE},result="scheduled"}}'] == 1
    assert found[f'scheduler_scheduling_attempt_duration_seconds_count{{{PROFILE},result="scheduled"}}'] == 1
    assert found[f'scheduler_scheduling_attempt_duration_seconds_sum{{{PROFILE},result="scheduled"}}'] > 0
    assert found["scheduler_scheduling_algorithm_duration_seconds_count"] == 1
    assert found['scheduler_pod_scheduling_sli_duration_seconds_count{attempts="1"}'] == 1
    assert found["scheduler_pod_scheduling_attempts_sum"] == 1
    assert found['scheduler_queue_incoming_pods_total{event="UnschedulablePodAdd",queue="active"}'] == 1
    assert found['scheduler_event_handling_duration_seconds_count{event="UnschedulablePodAdd"}'] == 1
    assert found['scheduler_event_handling_duration_seconds_count{event="AssignedPodUpdate"}'] == 1
    assert found['scheduler_event_handling_duration_seconds_count{event="NodeAdd"}'] == 1
    sizes = {
        kind: found[f'scheduler_cache_size{{type="{kind}"}}'] for kind in ("nodes", "pods", "assumed_pods")
    }
    assert sizes == {"nodes": 1, "pods": 1, "assumed_pods": 0}


def test_a_pod_whose_place_is_assumed() -> None:
    stage, _ = metered()
    stage.nodes("a").try_pod(pod("web"))
    found = scrape(stage)
    assert found['scheduler_cache_size{type="assumed_pods"}'] == 1
    assert found['scheduler_goroutines{operation="binding"}'] == 1


def test_a_pod_that_fits_nowhere_and_comes_back() -> None:
    stage, _ = metered()
    stage.nodes(node("small", cpu="1"))
    big = pod("big", cpu="2")
    stage.wait(big)
    found = scrape(stage)
    assert found[f'scheduler_schedule_attempts_total{{{PROFILE},result="unschedulable"}}'] == 1
    assert found["scheduler_scheduling_algorithm_duration_seconds_count"] == 1
    assert found['scheduler_pending_pods{queue="unschedulable"}'] == 1
    assert found[f'scheduler_unschedulable_pods{{plugin="NodeResourcesFit",{PROFILE}}}'] == 1
    failure = 'scheduler_queue_incoming_pods_total{event="ScheduleAttemptFailure",queue="unschedulable"}'
    assert found[failure] == 1

    stage.nodes(node("large", cpu="4"))
    found = scrape(stage)
    assert found['scheduler_queue_incoming_pods_total{event="NodeAdd",queue="backoff"}'] == 1
    hint = 'event="NodeAdd",hint="Queue",plugin="NodeResourcesFit"'
    assert found[f"scheduler_queueing_hint_execution_duration_seconds_count{{{hint}}}"] == 1
    assert stage.all() == {"big": "large"}
    found = scrape(stage)
    assert found['scheduler_queue_incoming_pods_total{event="PopFromBackoffQ",queue="active"}'] == 1
    assert found['scheduler_pod_scheduling_sli_duration_seconds_count{attempts="2"}'] == 1
    assert found["scheduler_pod_scheduling_attempts_sum"] == 2
    assert found['scheduler_pod_scheduling_attempts_bucket{le="1.0"}'] == 0
    assert found['scheduler_pod_scheduling_attempts_bucket{le="2.0"}'] == 1


def test_what_brought_one_pod_in_is_not_said_of_the_next() -> None:
    stage, _ = metered()
    stage.nodes(node("small", cpu="1")).wait(pod("big", cpu="2"))
    stage.nodes(node("large", cpu="4")).add(pod("new"))
    found = scrape(stage)
    assert found['scheduler_queue_incoming_pods_total{event="NodeAdd",queue="backoff"}'] == 1
    assert found['scheduler_queue_incoming_pods_total{event="UnschedulablePodAdd",queue="active"}'] == 2


def test_back_off_that_is_over() -> None:
    stage, _ = metered(erring())
    stage.nodes("a")
    stage.wait(bad("web"))
    assert attempts(stage, "error") == 1
    stage.tick(5.0)
    found = scrape(stage)
    assert found['scheduler_queue_incoming_pods_total{event="BackoffComplete",queue="active"}'] == 1
    assert found['scheduler_pending_pods{queue="active"}'] == 1


def test_a_gated_pod_is_pending_and_never_tried() -> None:
    from mooring.model.objects import PodSchedulingGate

    stage, _ = metered()
    stage.nodes("a").add(pod("held", scheduling_gates=(PodSchedulingGate(name="later"),)))
    assert stage.cycle() is None
    found = scrape(stage)
    assert found['scheduler_pending_pods{queue="gated"}'] == 1
    assert found[f'scheduler_unschedulable_pods{{plugin="SchedulingGates",{PROFILE}}}'] == 1
    assert "scheduler_scheduling_algorithm_duration_seconds_count" in found
    assert found["scheduler_scheduling_algorithm_duration_seconds_count"] == 0


def test_bind_failures_are_errors() -> None:
    stage, _ = metered()
    decision = stage.nodes("a").try_pod(pod("web"))
    assert isinstance(decision, Bind)
    stage.bind_failed(decision)
    assert attempts(stage, "error") == 1
    assert attempts(stage, "scheduled") == 0
    assert scrape(stage)["scheduler_scheduling_algorithm_duration_seconds_count"] == 1


def test_waiting_at_permit() -> None:
    wait = Status(Code.WAIT, timeout_s=10)
    holder = made("Holder", permit=lambda self, cycle, pod, node: wait)
    stage, _ = metered(holder)
    stage.nodes("a").add(pod("web"))
    stage.cycle()
    stage.now = 4.0
    stage.engine.waiting["web"].allow("Holder")
    stage.tick(4.0)
    found = scrape(stage)
    assert found['scheduler_framework_extension_point_duration_seconds_count'
                 f'{{extension_point="Permit",{PROFILE},status="Wait"}}'] == 1  # fmt: skip
    assert found['scheduler_permit_wait_duration_seconds_count{result="Success"}'] == 1


def test_a_rejected_wait_is_timed_in_the_engines_time() -> None:
    wait = Status(Code.WAIT, timeout_s=10)
    stage, _ = metered(made("Holder", permit=lambda self, cycle, pod, node: wait))
    stage.nodes("a").add(pod("web"))
    stage.cycle()
    stage.tick(10.0)
    assert scrape(stage)['scheduler_permit_wait_duration_seconds_sum{result="Unschedulable"}'] == 10


def test_points_and_what_came_of_them() -> None:
    refuse = Status(Code.UNSCHEDULABLE, ("no",))
    plugin = made("Refuser", reserve=lambda self, cycle, pod, node: refuse,
                  unreserve=lambda self, cycle, pod, node: None)  # fmt: skip
    stage, _ = metered(plugin, erring())
    stage.engine.placer.keep_evaluations = False  # a repaired evaluation runs no point over all nodes
    stage.nodes("a").wait(pod("web"))
    stage.wait(bad("worse"))
    found = scrape(stage)

    def count(point: str, status: str) -> float:
        labels = f'extension_point="{point}",{PROFILE},status="{status}"'
        return found.get(f"scheduler_framework_extension_point_duration_seconds_count{{{labels}}}", 0)

    assert count("PreFilter", "Success") == 1
    assert count("PreFilter", "Error") == 1
    assert count("Filter", "Success") == 1
    assert count("Reserve", "Unschedulable") == 1
    assert count("Unreserve", "Success") == 1
    assert count("Score", "Success") == 0  # a single node is not scored


def test_preemption() -> None:
    stage, _ = metered(base=(*BUILT_IN, DefaultPreemption))
    stage.nodes(node("a", cpu="1"))
    stage.running(pod("low", priority=0), "a")
    stage.add(pod("high", priority=10))
    decisions = stage.cycle()
    assert decisions
    assert any(isinstance(each, Evict) for each in decisions)
    found = scrape(stage)
    assert found["scheduler_preemption_attempts_total"] == 1
    assert found["scheduler_preemption_victims_sum"] == 1
    point = f'extension_point="PostFilter",{PROFILE},status="Success"'
    assert found[f"scheduler_framework_extension_point_duration_seconds_count{{{point}}}"] == 1


@pytest.mark.parametrize(
    ("alike", "expected"),
    [
        (False, 10),  # the first pod over all nodes, each other for one node
        (True, 2),  # and nodes that are like one before are not asked about again
    ],
)
def test_kept_evaluations_run_plugins_on_what_changed_only(alike: bool, expected: int) -> None:
    stage, _ = metered()
    stage.nodes(*(node(f"n{number}", cpu=8 if alike else 8 + number) for number in range(20)))
    for number in range(10):
        stage.place(pod(f"web-{number}", cpu="100m"))
    found = scrape(stage)
    assert f"mooring_full_evaluations_total{{{PROFILE}}}" not in found
    calls = found[
        f'scheduler_plugin_evaluation_total{{extension_point="Filter",plugin="NodeResourcesFit",{PROFILE}}}'
    ]
    assert calls == expected
    point = f'extension_point="Filter",{PROFILE},status="Success"'
    assert f"scheduler_framework_extension_point_duration_seconds_count{{{point}}}" not in found


def test_plugins_are_timed_in_some_cycles() -> None:
    stage, _ = metered()
    stage.nodes("a", "b")
    for number in range(200):  # each leaves a node as none was before
        stage.place(pod(f"web-{number}", cpu="1m"))
    found = scrape(stage)
    labels = 'extension_point="Filter",plugin="NodeResourcesFit",status="Success"'
    timed = found[f"scheduler_plugin_execution_duration_seconds_count{{{labels}}}"]
    calls = found[
        f'scheduler_plugin_evaluation_total{{extension_point="Filter",plugin="NodeResourcesFit",{PROFILE}}}'
    ]
    assert 0 < timed < calls / 3


async def test_binding_points() -> None:
    async def bind(self: Any, cycle: Any, pod: Any, node: str) -> Status | None:
        return Status(Code.ERROR, ("no",)) if pod.name == "bad" else None

    stage, meter = metered(made("Binder", bind=bind), text=_ONLY_BINDER)
    stage.nodes("a")
    meter.sampled = True
    for name in ("good", "bad"):
        decision = stage.try_pod(pod(name))
        assert isinstance(decision, Bind)
        meter.sampled = True
        try:
            state = stage.engine.binding_state(decision)
            assert state is not None
            await run_binding(state.profile, state.cycle, decision.pod, "a", {}, None)  # type: ignore[arg-type]
        except BindingFailed:
            assert name == "bad"
    series = {labels: sum(s.counts) for labels, s in _point_series(meter)}
    assert series["Bind", "Success", "default-scheduler"] == 1
    assert series["Bind", "Error", "default-scheduler"] == 1


def _point_series(meter: Any) -> Any:
    from mooring.framework.metrics.families import POINT_SECONDS

    return meter.sampled_series(POINT_SECONDS)


_ONLY_BINDER = """
profiles:
- plugins:
    bind: {enabled: [{name: Binder}], disabled: [{name: DefaultBinder}]}
"""


def test_events_kept_for_pods_in_flight() -> None:
    stage, _ = metered()
    stage.nodes("a")
    stage.add(pod("web"))
    stage.engine.queue.pop()
    stage.nodes("b")
    assert scrape(stage)['scheduler_inflight_events{event="NodeAdd"}'] == 1


def test_scheduled_after_waiting_too_long() -> None:
    stage, _ = metered()
    stage.nodes(node("a", cpu="1"))
    stage.wait(pod("big", cpu="2"))
    # What makes room is hidden from the queue, as with a hint that is wrong.
    stage.engine.cluster.nodes.resources["cpu"].allocatable.at[0] = 4000
    stage.engine.cluster.nodes.journal.write(0)
    stage.tick(330.0)
    assert stage.all() == {"big": "a"}
    found = scrape(stage)
    assert found["scheduler_pod_scheduled_after_flush_total"] == 1
    assert found['scheduler_queue_incoming_pods_total{event="UnschedulableTimeout",queue="active"}'] == 1
    assert found['scheduler_pod_scheduling_sli_duration_seconds_sum{attempts="2"}'] == 330


def test_many_attempts_share_a_series() -> None:
    stage, _ = metered()
    stage.nodes("a")
    decision = stage.try_pod(web := pod("web"))
    stage.engine.binding[web.uid].queued.attempts = 20
    stage.bound(decision)  # type: ignore[arg-type]
    found = scrape(stage)
    assert found['scheduler_pod_scheduling_sli_duration_seconds_count{attempts="15+"}'] == 1
    assert found["scheduler_pod_scheduling_attempts_sum"] == 20
    assert found['scheduler_pod_scheduling_attempts_bucket{le="16.0"}'] == 0
    assert found["scheduler_pod_scheduling_attempts_count"] == 1


def test_a_deleted_pod_is_taken_in_as_assigned_or_not() -> None:
    stage, _ = metered()
    stage.nodes("a")
    stage.engine.handle(PodDeleted(stage.running(pod("web"), "a")), 0.0)
    assert scrape(stage)['scheduler_event_handling_duration_seconds_count{event="AssignedPodDelete"}'] == 1


def test_buckets_are_cumulative() -> None:
    stage, meter = metered()
    from mooring.framework.metrics.families import ALGORITHM_SECONDS

    for seconds in (0.0005, 0.001, 0.0015, 100.0):
        meter.samples(ALGORITHM_SECONDS).observe(seconds)
    found = scrape(stage)
    name = "scheduler_scheduling_algorithm_duration_seconds"
    assert found[f'{name}_bucket{{le="0.001"}}'] == 2  # a bound belongs to its own bucket
    assert found[f'{name}_bucket{{le="0.002"}}'] == 3
    assert found[f'{name}_bucket{{le="16.384"}}'] == 3
    assert found[f'{name}_bucket{{le="+Inf"}}'] == 4
    assert found[f"{name}_sum"] == pytest.approx(100.003)


ENABLED = "profiles:\n- plugins: {multiPoint: {enabled: [{name: Forgets}]}}\n"


@pytest.mark.parametrize("text", [ENABLED, "percentageOfNodesToScore: 50\n" + ENABLED])
def test_full_evaluations_are_counted(text: str) -> None:
    stage, _ = metered(made("Forgets", score=lambda self, cycle, pod, node: 0), text=text)
    stage.nodes(*(f"n{number}" for number in range(250)))  # so many that some may be left out
    stage.place(pod("p"))
    found = scrape(stage)
    assert found[f"mooring_full_evaluations_total{{{PROFILE}}}"] == 1
    for label in ("Filter", "Score"):
        point = f'extension_point="{label}",{PROFILE},status="Success"'
        assert found[f"scheduler_framework_extension_point_duration_seconds_count{{{point}}}"] == 1
