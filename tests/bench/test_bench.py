"""Benchmarks run and count what they say they count. Nothing here looks at how long anything takes."""

from __future__ import annotations

import pytest

from mooring.bench.cases import CASES
from mooring.bench.runner import run_case

# A node takes one pod of these, so that there cannot be as many pods as nodes.
ONE_POD_A_NODE = ("SchedulingPodAntiAffinity", "SchedulingRequiredPodAntiAffinityWithNSSelector")


@pytest.mark.parametrize("name", CASES)
def test_every_pod_of_every_case_is_bound(name: str) -> None:
    case = CASES[name]
    nodes = min(case.nodes, 20)
    pods = 20 if case.nodes > 1 else 50
    if name in ONE_POD_A_NODE:
        pods = case.pods * nodes // case.nodes
    if name == "PreemptionAffinity":
        pods = 5  # each keeps others away from its host: more would have to wait and be tried again
    measured = run_case(case, nodes, pods)
    assert (measured.case, measured.nodes, measured.pods) == (name, nodes, pods)
    assert measured.bound == pods
    assert measured.p50_us <= measured.p99_us


def test_cases_without_warming_up_tell_the_first_from_the_others() -> None:
    measured = run_case(CASES["PreemptionCold"], 20, 10)
    assert measured.first_ms is not None
    assert measured.later_ms is not None
    assert run_case(CASES["PreemptionBasic"], 20, 10).first_ms is None
