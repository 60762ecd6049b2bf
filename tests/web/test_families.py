"""Names, types, labels and buckets are kube-scheduler's."""

from __future__ import annotations

import pytest

from mooring.framework.metrics.families import FAMILIES, Family

# name, type, labels, bounds as (first, factor, how many), stability
KUBE = """
schedule_attempts_total                    counter   result,profile                  -               STABLE
scheduling_attempt_duration_seconds        histogram result,profile                  0.001,2,15      STABLE
scheduling_algorithm_duration_seconds      histogram -                               0.001,2,15      ALPHA
preemption_victims                         histogram -                               1,2,7           STABLE
preemption_attempts_total                  counter   -                               -               STABLE
pending_pods                               gauge     queue                           -               STABLE
pod_scheduling_attempts                    histogram -                               1,2,5           STABLE
pod_scheduling_sli_duration_seconds        histogram attempts                        0.01,2,20       BETA
framework_extension_point_duration_seconds histogram extension_point,status,profile  0.0001,2,12     STABLE
plugin_execution_duration_seconds          histogram plugin,extension_point,status   0.00001,1.5,20  ALPHA
queue_incoming_pods_total                  counter   queue,event                     -               STABLE
goroutines                                 gauge     operation                       -               BETA
permit_wait_duration_seconds               histogram result                          0.001,2,15      BETA
unschedulable_pods                         gauge     plugin,profile                  -               BETA
plugin_evaluation_total                    counter   plugin,extension_point,profile  -               BETA
cache_size                                 gauge     type                            -               ALPHA
event_handling_duration_seconds            histogram event                           0.0001,2,12     ALPHA
queueing_hint_execution_duration_seconds   histogram plugin,event,hint               0.00001,1.5,20  ALPHA
inflight_events                            gauge     event                           -               ALPHA
pod_scheduled_after_flush_total            counter   -                               -               ALPHA
podgroup_schedule_attempts_total           counter   result,profile                  -               ALPHA
podgroup_scheduling_attempt_duration_seconds histogram result,profile                0.001,2,15      ALPHA
podgroup_scheduling_algorithm_duration_seconds histogram -                           0.001,2,15      ALPHA
"""
ROWS = [line.split() for line in KUBE.strip().splitlines()]
OURS: dict[str, Family] = {family.name: family for family in FAMILIES}


@pytest.mark.parametrize(
    ("name", "kind", "labels", "bounds", "stability"), ROWS, ids=[row[0] for row in ROWS]
)
def test_is_as_kube_scheduler_has_it(name: str, kind: str, labels: str, bounds: str, stability: str) -> None:
    family = OURS[f"scheduler_{name}"]
    assert family.kind.value == kind
    assert family.labels == (() if labels == "-" else tuple(labels.split(",")))
    assert family.stability == stability
    if bounds == "-":
        assert not family.buckets
    else:
        first, factor, count = map(float, bounds.split(","))
        assert family.buckets == pytest.approx([first * factor**n for n in range(int(count))])


KOORDINATOR = {"scheduler_waiting_gang_group_number", "scheduler_gang_schedule_cycle_duration_seconds"}


def test_nothing_else_has_the_name_of_kube_scheduler() -> None:
    names = {name for name in OURS if name.startswith("scheduler_")}
    assert names - KOORDINATOR == {f"scheduler_{row[0]}" for row in ROWS}
    assert all(name.startswith(("scheduler_", "mooring_")) for name in OURS)
