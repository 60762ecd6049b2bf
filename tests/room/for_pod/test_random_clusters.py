"""On any small cluster: the arrays, the filters and the step-by-step reference say the same."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from engine.stage import node, pod
from mooring.engine.decisions import Bind
from mooring.model.objects import (
    Affinity,
    ContainerPort,
    LabelSelector,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    TopologySpreadConstraint,
)
from mooring.plugins.topology.interpod import InterPodAffinity
from mooring.plugins.topology.spread import PodTopologySpread
from mooring.room.for_pod import coverage, prospects
from plugins.preemption.arena import Answer, Arena, answer_of, started
from room.for_pod.reference import Allowance, Guest, House, Verdict, preempt

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
PRIORITIES = st.sampled_from((-1, 0, 1, 2, 3))
AMOUNTS = st.sampled_from((0, 1, 1, 2, 3))
LABELS = st.sampled_from(((), (("app", "a"),), (("app", "b"),), (("app", "a"), ("tier", "x"))))


@st.composite
def guests(draw: Any, prefix: str, most: int) -> list[Guest]:
    count = draw(st.integers(0, most))
    return [
        Guest(
            f"{prefix}-{number}",
            draw(PRIORITIES),
            draw(AMOUNTS),
            draw(AMOUNTS),
            draw(st.integers(0, 4)),
            draw(st.sampled_from((0, 0, 0, 80))),
            draw(LABELS),
        )
        for number in range(count)
    ]


@st.composite
def clusters(draw: Any) -> dict[str, Any]:
    houses = []
    for number in range(draw(st.integers(1, 6))):
        name = f"n{number}"
        there = draw(guests(name, 6))
        coming = draw(guests(f"{name}-coming", 1)) if draw(st.integers(0, 3)) == 0 else []
        houses.append(
            House(
                name, draw(st.integers(0, 6)), draw(st.integers(0, 8)), draw(st.integers(1, 7)), there, coming
            )
        )
    names = [guest.name for house in houses for guest in house.guests]
    budgets = [
        Allowance(
            *draw(st.sampled_from((("app", "a"), ("app", "b"), ("tier", "x")))),
            draw(st.integers(0, 2)),
            frozenset(draw(st.lists(st.sampled_from(names), max_size=2))) if names else frozenset(),
        )
        for _ in range(draw(st.integers(0, 3)))
    ]
    return {
        "houses": houses,
        "pod": Guest(
            "preemptor",
            draw(st.integers(0, 4)),
            draw(AMOUNTS),
            draw(AMOUNTS),
            0,
            draw(st.sampled_from((0, 0, 80))),
        ),
        "budgets": budgets,
        "offset": draw(st.integers(0, 5)),
        "percentage": draw(st.sampled_from((10, 50, 100))),
        "absolute": draw(st.sampled_from((0, 1, 2, 100))),
    }


def as_pod(guest: Guest, **more: Any) -> Pod:
    requests = {name: amount for name, amount in (("cpu", guest.cpu), ("memory", guest.memory)) if amount}
    ports = (ContainerPort(host_port=guest.port, protocol="TCP"),) if guest.port else ()
    made = pod(
        guest.name,
        requests.get("cpu"),
        requests.get("memory"),
        priority=guest.priority,
        labels=dict(guest.labels),
        ports=ports,
        **more,
    )
    return started(made, guest.start)


def arena_of(cluster: dict[str, Any], *plugins: Any, exact: bool) -> Arena:
    arena = Arena(
        *plugins,
        exact=exact,
        offset=cluster["offset"],
        minCandidateNodesPercentage=cluster["percentage"],
        minCandidateNodesAbsolute=cluster["absolute"],
    )
    for number, house in enumerate(cluster["houses"]):
        labels = {HOSTNAME: house.name, ZONE: f"z{number % 2}"}
        arena.nodes(node(house.name, house.cpu, house.memory, house.most, labels=labels))
        for guest in house.guests:
            arena.running(as_pod(guest), house.name)
        for guest in house.coming:
            arena.engine.nominator.nominate(as_pod(guest), house.name)
    for number, budget in enumerate(cluster["budgets"]):
        arena.budget(f"b{number}", budget.allowed, *budget.disrupted, **{budget.key: budget.value})
    return arena


def answered(cluster: dict[str, Any], wanted: Pod, *plugins: Any, exact: bool) -> Answer | None:
    """What the engine says; None when the pod fits."""
    decisions = arena_of(cluster, *plugins, exact=exact).attempt(wanted)
    if any(isinstance(decision, Bind) for decision in decisions):
        return None
    return answer_of(decisions)


# One node, and a pod on it that a budget knows to be disrupted already.
KNOWN_TO_GO: dict[str, Any] = {
    "houses": [
        House("n0", cpu=1, memory=0, most=2, coming=[], guests=[
            Guest("n0-0", priority=-1, cpu=0, memory=0, start=0, port=0, labels=()),
            Guest("n0-1", priority=-1, cpu=0, memory=0, start=0, port=0, labels=(("app", "b"),)),
        ]),
        House("n1", cpu=0, memory=0, most=1, guests=[], coming=[]),
    ],
    "pod": Guest("preemptor", priority=0, cpu=1, memory=0, start=0, port=0, labels=()),
    "budgets": [Allowance(key="app", value="b", allowed=0, disrupted=frozenset({"n0-1"}))],
    "offset": 0,
    "percentage": 10,
    "absolute": 0,
}  # fmt: skip


@settings(max_examples=120, deadline=None)
@example(KNOWN_TO_GO)
@given(clusters())
def test_arrays_and_filters_do_as_the_reference(cluster: dict[str, Any]) -> None:
    expected = preempt(**cluster)
    for few_budgets, few_rows, exact in ((16, 8, False), (0, 0, False), (16, 0, False), (0, 0, True)):
        with patch.object(coverage, "FEW", few_budgets), patch.object(prospects, "FEW", few_rows):
            answer = answered(cluster, as_pod(cluster["pod"]), exact=exact)
        if expected.fits:
            assert answer is None
            continue
        assert answer is not None
        said = answer.said if answer.nominated == "" else ""
        assert Verdict(False, answer.nominated, frozenset(answer.victims), said) == expected


SELECTOR = LabelSelector(match_labels={"app": "a"})
TERM = PodAffinityTerm(label_selector=SELECTOR, topology_key=HOSTNAME)
ZONE_TERM = PodAffinityTerm(label_selector=SELECTOR, topology_key=ZONE)


def required(term: PodAffinityTerm) -> PodAffinity:
    return PodAffinity(required_during_scheduling_ignored_during_execution=(term,))


@settings(max_examples=60, deadline=None)
@given(clusters(), st.sampled_from(("apart by host", "apart by zone", "near", "spread")))
def test_sorting_nodes_out_first_changes_nothing(cluster: dict[str, Any], shape: str) -> None:
    """Pods whose other filters look at pods too: arrays leave out what cannot be, filters decide."""
    spread = TopologySpreadConstraint(
        max_skew=1, topology_key=ZONE, when_unsatisfiable="DoNotSchedule", label_selector=SELECTOR
    )
    more: dict[str, Any] = {
        "apart by host": {"affinity": Affinity(pod_anti_affinity=required(TERM))},
        "apart by zone": {"affinity": Affinity(pod_anti_affinity=required(ZONE_TERM))},
        "near": {"affinity": Affinity(pod_affinity=required(TERM))},
        "spread": {"topology_spread_constraints": (spread,)},
    }[shape]
    wanted = as_pod(
        Guest("preemptor", cluster["pod"].priority, cluster["pod"].cpu, 1, labels=(("app", "a"),)), **more
    )
    plugins = (PodTopologySpread, InterPodAffinity)
    quick = answered(cluster, wanted, *plugins, exact=False)
    assume(quick is not None)
    assert quick == answered(cluster, wanted, *plugins, exact=True)
