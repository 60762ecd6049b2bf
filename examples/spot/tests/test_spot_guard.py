"""What SpotGuard promises, in small worlds of a few nodes."""

from __future__ import annotations

import pytest
from mooring_spot import SpotGuard
from mooring_spot.guard import NOT_PREEMPTIBLE

from mooring.testing import NodeBuilder, check_conformance, cluster, node, pod

LABEL = "kai.scheduler/instance-type"
HEAVY = {"SpotGuard": 5}


def spot(name: str) -> NodeBuilder:
    return node(name).label(LABEL, "spot")


def test_pod_that_must_stay_waits_rather_than_run_on_spot():
    world = cluster(spot("spot-1"), spot("spot-2"), policies=[SpotGuard])
    assert world.schedule(pod("db").priority(1000)) is None
    assert world.message(pod("db")).startswith(f"0/2 nodes are available: 2 {NOT_PREEMPTIBLE}.")


def test_preemptible_pod_runs_on_spot_when_there_is_nothing_else():
    world = cluster(spot("spot-1"), policies=[SpotGuard])
    assert world.schedule(pod("batch").priority(10)) == "spot-1"


@pytest.mark.parametrize("priority", [0, 99], ids=["no priority", "just below 100"])
def test_preemptible_pod_prefers_on_demand(priority: int):
    world = cluster(spot("spot-1"), node("on-demand-1"), policies=[SpotGuard], weights=HEAVY)
    assert world.schedule(pod("batch").priority(priority)) == "on-demand-1"


def test_preference_is_worth_its_weight():
    world = cluster(spot("spot-1"), node("on-demand-1"), policies=[SpotGuard], weights=HEAVY)
    batch = pod("batch").priority(10)
    world.schedule(batch)
    scores = world.scores(batch)
    assert scores["on-demand-1"] - scores["spot-1"] == 500


def test_label_and_value_are_arguments():
    args = {"SpotGuard": SpotGuard.Args(label="capacity", value="preemptible")}
    cheap = node("cheap-1").label("capacity", "preemptible")
    world = cluster(cheap, spot("spot-1"), policies=[SpotGuard], args=args)
    assert world.schedule(pod("db").priority(1000)) == "spot-1"


def test_waiting_pod_is_tried_again_when_an_on_demand_node_joins(make_cluster):
    world = make_cluster(spot("spot-1"), policies=[SpotGuard])
    assert world.schedule(pod("db").priority(1000)) is None
    world.add(node("on-demand-1"))
    world.advance(2)
    assert world.placements["default/db"] == "on-demand-1"


def test_spot_node_that_joins_does_not_wake_the_pod(make_cluster):
    world = make_cluster(spot("spot-1"), policies=[SpotGuard])
    world.schedule(pod("db").priority(1000))
    world.add(spot("spot-2"))
    world.advance(2)
    assert world.message(pod("db")).startswith(f"0/1 nodes are available: 1 {NOT_PREEMPTIBLE}.")


def test_spot_guard_keeps_its_promises():
    check_conformance(SpotGuard, rounds=5)
