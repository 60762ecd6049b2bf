"""What is kept of earlier searches is as good as new: on a cluster that changes between preemptors, every
answer is that of the step-by-step reference."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.stage import node
from mooring.engine.decisions import Bind, Evict
from mooring.engine.events import EvictFailed
from mooring.model.objects import Pod
from mooring.room.for_pod import prospects
from plugins.preemption.arena import Arena, answer_of
from room.for_pod.reference import Allowance, Guest, House, Verdict, preempt
from room.for_pod.test_random_clusters import AMOUNTS, PRIORITIES, as_pod

NODES = 4
LABELLED = ((), (("app", "a"),), (("app", "b"),), (("app", "a"), ("tier", "x")))
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("come"), st.integers(0, NODES - 1), PRIORITIES, AMOUNTS, st.sampled_from(LABELLED)),
        st.tuples(st.just("swap"), st.integers(0, 30), PRIORITIES, st.sampled_from(LABELLED)),
        st.tuples(st.just("go"), st.integers(0, 30)),
        st.tuples(st.just("nominate"), st.integers(0, NODES - 1), PRIORITIES, AMOUNTS),
        st.tuples(st.just("nominate"), st.integers(0, NODES - 1), st.just(3), st.sampled_from((1, 2, 3))),
        st.tuples(st.just("withdraw"), st.integers(0, NODES - 1)),
        st.tuples(st.just("budget"), st.sampled_from(("a", "b")), st.integers(0, 2), st.integers(-3, 30)),
        st.tuples(st.just("cordon"), st.integers(0, NODES - 1), st.booleans()),
        st.tuples(st.just("preempt"), st.sampled_from((2, 3)), st.sampled_from((2, 3)), st.integers(0, 5)),
        st.tuples(st.just("preempt"), st.sampled_from((2, 3)), st.sampled_from((2, 3)), st.integers(0, 5)),
    ),
    min_size=5,
    max_size=40,
)


class Both:
    """The engine, and what the reference knows of the same cluster."""

    def __init__(self, percentage: int) -> None:
        self.arena = Arena(minCandidateNodesPercentage=percentage, minCandidateNodesAbsolute=1)
        self.percentage = percentage
        self.houses = [House(f"n{number}", 3, 100, 6) for number in range(NODES)]
        self.budgets: dict[str, Allowance] = {}
        for house in self.houses:
            self.arena.nodes(node(house.name, house.cpu, house.memory, house.most))
        for number in range(3 * NODES):  # every node is full
            self.come(f"first-{number}", number % NODES, number % 5 - 1, 1, LABELLED[number % 4])

    def come(self, name: str, at: int, priority: int, cpu: int, labels: Any) -> None:
        house = self.houses[at]
        if len(house.guests) < house.most:
            house.guests.append(guest := Guest(name, priority, cpu, start=at, labels=labels))
            self.arena.running(as_pod(guest), house.name)

    def go(self, number: int) -> None:
        there = [(house, guest) for house in self.houses for guest in house.guests]
        if there:
            house, guest = there[number % len(there)]
            house.guests.remove(guest)
            self.arena.delete(as_pod(guest).on_node(house.name))

    def swap(self, name: str, number: int, priority: int, labels: Any) -> None:
        """A pod goes and another takes its place."""
        there = [(at, guest) for at, house in enumerate(self.houses) for guest in house.guests]
        if there:
            at, guest = there[number % len(there)]
            self.houses[at].guests.remove(guest)
            self.arena.delete(as_pod(guest).on_node(self.houses[at].name))
            self.come(name, at, priority, guest.cpu, labels)

    def withdraw(self, at: int) -> None:
        house = self.houses[at]
        for coming in house.coming:
            self.arena.engine.nominator.remove(coming.name)
        house.coming = []

    def nominate(self, name: str, at: int, priority: int, cpu: int) -> None:
        """At most one pod to a node."""
        self.withdraw(at)
        house = self.houses[at]
        house.coming = [guest := Guest(name, priority, cpu)]
        self.arena.engine.nominator.nominate(as_pod(guest), house.name)

    def budget(self, app: str, allowed: int, number: int) -> None:
        """With one of the pods, or none, disrupted already."""
        names = [guest.name for house in self.houses for guest in house.guests]
        disrupted = (names[number % len(names)],) if names and number >= 0 else ()
        self.budgets[app] = Allowance("app", app, allowed, frozenset(disrupted))
        self.arena.budget(app, allowed, *disrupted, app=app)

    def cordon(self, at: int, cordoned: bool) -> None:
        house = self.houses[at]
        house.cordoned = cordoned
        self.arena.change(node(house.name, house.cpu, house.memory, house.most, unschedulable=cordoned))

    def preempt(self, name: str, priority: int, cpu: int, offset: int) -> None:
        """Both have the same answer. Then everything is as if the pod had never come."""
        pod = Guest(name, priority, cpu)
        expected = preempt(self.houses, pod, list(self.budgets.values()), offset, self.percentage, 1)
        self.arena.preemption.handle.random._offset = offset
        decisions = self.arena.attempt(wanted := as_pod(pod))
        if expected.fits:
            assert isinstance(decisions[-1], Bind)
        else:
            answer = answer_of(decisions)
            said = answer.said if answer.nominated == "" else ""
            assert Verdict(False, answer.nominated, frozenset(answer.victims), said) == expected
        self._undo(wanted, decisions)

    def _undo(self, wanted: Pod, decisions: list[Any]) -> None:
        self.arena.delete(wanted)
        for decision in decisions:
            if isinstance(decision, Evict):
                self.arena.engine.handle(EvictFailed(decision.pod, decision.by, "no"), self.arena.now)
        for house in self.houses:  # those that were overtaken are as before
            for coming in house.coming:
                self.arena.engine.nominator.nominate(as_pod(coming), house.name)


@settings(max_examples=100, deadline=None)
@given(STEPS, st.sampled_from((1, 50, 100)), st.sampled_from((0, 1, 8)))
def test_every_answer_is_that_of_the_reference(steps: list[Any], percentage: int, few: int) -> None:
    both = Both(percentage)
    with patch.object(prospects, "FEW", few):  # rows: these are not looked at together
        for number, (what, *details) in enumerate(steps):
            match what:
                case "come" | "swap" | "nominate" | "preempt":
                    getattr(both, what)(f"p{number}", *details)
                case _:
                    getattr(both, what)(*details)


def test_a_nomination_that_is_taken_back_leaves_no_trace() -> None:
    both = Both(100)
    for number in range(NODES):
        both.nominate(f"coming-{number}", number, 3, 2)
    both.preempt("p", 3, 2, 0)
    for number in range(NODES):
        both.withdraw(number)
    both.preempt("q", 3, 2, 0)
