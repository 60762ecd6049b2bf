"""The plan follows from the seed alone, and is as long and as rough as was asked for."""

from __future__ import annotations

from collections import Counter

import pytest

from chaos.plan import ANSWERS, APISERVER, ETCD, FREEZE, KILL, LEASE_SECONDS, OFTEN, make_plan
from chaos.workload import CPU, NODES, WEIGHTS, gang, nodes
from e2e.amounts import asked_by


def test_the_same_seed_makes_the_same_plan() -> None:
    assert make_plan(7, 20, 3) == make_plan(7, 20, 3)
    assert make_plan(7, 20, 3) != make_plan(8, 20, 3)


def test_twenty_minutes_have_as_many_kills_as_promised() -> None:
    plan = make_plan(1, 20, 3)
    count = plan.count()
    assert sum(each.seconds for each in plan.rounds) == 20 * 60
    assert count[KILL] >= 100
    assert count[APISERVER] >= 15
    assert count[ETCD] >= 5
    assert set(count) == set(OFTEN)


@pytest.mark.parametrize("minutes", [0.5, 3, 7, 20])
def test_faults_end_within_their_round_and_are_in_order(minutes: float) -> None:
    for each in make_plan(3, minutes, 2).rounds:
        assert list(each.faults) == sorted(each.faults)
        for fault in each.faults:
            assert 0 <= fault.at <= fault.ends <= each.seconds + 0.001
            assert 0 <= fault.target < 2
            assert fault.kind not in ANSWERS or 0 < fault.amount <= 1


def test_a_freeze_outlasts_the_lease() -> None:
    freezes = [f for each in make_plan(3, 20, 3).rounds for f in each.faults if f.kind == FREEZE]
    assert freezes
    assert all(fault.seconds > LEASE_SECONDS for fault in freezes)


def test_names_of_pods_are_used_once() -> None:
    plan = make_plan(2, 20, 3)
    names = Counter(
        manifest["metadata"]["name"]
        for each in plan.rounds
        for batch in each.batches
        for manifest in batch.pods
    )
    assert max(names.values()) == 1


def test_pods_ask_for_about_what_there_is() -> None:
    """Averaged over time, pods that are there want between nine tenths and five quarters of the cluster."""
    (each,) = make_plan(2, 5, 3).rounds
    wanted = sum(
        float(asked_by(manifest)["cpu"]) * (min(batch.ends, each.seconds) - batch.at)
        for batch in each.batches
        for manifest in batch.pods
    )
    assert 0.9 <= wanted / each.seconds / (NODES * CPU) <= 1.25


def test_a_plain_plan_has_no_gangs() -> None:
    plain, full = (make_plan(2, 5, 3, plain=plain).rounds[0].batches for plain in (True, False))
    assert not [b for b in plain if any("gang" in key for key in b.pods[0]["metadata"]["annotations"])]
    assert [b for b in full if any("gang" in key for key in b.pods[0]["metadata"]["annotations"])]
    assert gang in WEIGHTS


def test_every_zone_has_nodes_of_every_kind() -> None:
    kinds = {
        (
            each["metadata"]["labels"]["topology.kubernetes.io/zone"],
            each["metadata"]["labels"]["disk"],
            bool(each["spec"]["taints"]),
        )
        for each in nodes()
    }
    assert {(zone, disk, False) for zone in "abc" for disk in ("ssd", "hdd")} <= kinds
    assert len({zone for zone, _, tainted in kinds if tainted}) == 3
