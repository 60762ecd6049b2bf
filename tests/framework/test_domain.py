"""Plugins that judge nodes by key: their per-node form is made from their state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Self

import pytest

from mooring.cluster.view import ClusterView, NodeView
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.domain import DomainPlugin, DomainState
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Code, Status, unschedulable
from mooring.model.objects import Pod

Make = Callable[..., Any]
FULL = unschedulable("node(s) were in a full size")


class Sizes(DomainState):
    """Pods by the label `size` of their node; one is enough."""

    def __init__(self) -> None:
        self.key_of: dict[int, str] = {}
        self.pods: dict[int, int] = {}

    def update(self, row: int, node: NodeView | None) -> str:
        self.key_of[row] = node.labels["size"] if node else ""
        self.pods[row] = node.pod_count if node else 0
        return self.key_of[row]

    def status(self, key: Any) -> Status | None:
        totals = Counter[str]()
        for row, size in self.key_of.items():
            totals[size] += self.pods[row]
        return FULL if totals[key] else None

    def raw_scores(self, keys: Sequence[Any], sizes: Sequence[int]) -> Sequence[int]:
        return [10 * size + len(key) for key, size in zip(keys, sizes, strict=True)]

    def clone(self) -> Self:
        copy = type(self)()
        copy.key_of, copy.pods = dict(self.key_of), dict(self.pods)
        return copy


class OnePerSize(DomainPlugin):
    made = 0

    def domain(self, cycle: Cycle, pod: Pod) -> DomainState:
        type(self).made += 1
        return Sizes()


@pytest.fixture
def plugin(make: Make) -> OnePerSize:
    OnePerSize.made = 0
    return make(OnePerSize)


def test_the_filter_judges_by_key(plugin: OnePerSize, view: ClusterView, pod: Make) -> None:
    cycle = Cycle("mine", 0.0)
    found = {node.name: plugin.filter(cycle, pod(), node) for node in view.nodes}
    assert found == {"big": None, "small": FULL}
    assert plugin.scope is Scope.DOMAIN


def test_the_state_is_made_once_per_cycle(plugin: OnePerSize, view: ClusterView, pod: Make) -> None:
    for _ in range(2):
        cycle = Cycle("mine", 0.0)
        for node in view.nodes:
            plugin.filter(cycle, pod(), node)
        plugin.pre_score(cycle, pod(), view.nodes)
    assert OnePerSize.made == 2


def test_a_changed_node_is_taken_in_again(
    plugin: OnePerSize, cluster: Any, view: ClusterView, pod: Make
) -> None:
    cycle = Cycle("mine", 0.0)
    big = view.node("big")
    assert big is not None
    assert plugin.filter(cycle, pod(), big) is None
    with cluster.statement() as statement:
        statement.take(pod("new"), "big")
    assert plugin.filter(cycle, pod(), big) == FULL


def test_scores_come_from_the_keys_of_the_feasible_nodes(
    plugin: OnePerSize, view: ClusterView, pod: Make
) -> None:
    cycle = Cycle("mine", 0.0)
    assert plugin.pre_score(cycle, pod(), view.nodes) is None
    assert [plugin.score(cycle, pod(), node) for node in view.nodes] == [13, 15]


def test_a_state_that_does_not_score_skips(make: Make, view: ClusterView, pod: Make) -> None:
    class Silent(Sizes):
        scores = False
        filters = False

    class Quiet(DomainPlugin):
        def domain(self, cycle: Cycle, pod: Pod) -> DomainState:
            return Silent()

    quiet, cycle = make(Quiet), Cycle("mine", 0.0)
    skipped = quiet.pre_score(cycle, pod(), view.nodes)
    assert skipped is not None
    assert skipped.code is Code.SKIP
    assert [quiet.filter(cycle, pod(), node) for node in view.nodes] == [None, None]


def test_a_trial_does_not_touch_the_state(
    plugin: OnePerSize, cluster: Any, view: ClusterView, pod: Make
) -> None:
    cycle, big = Cycle("mine", 0.0), view.node("big")
    assert big is not None
    plugin.filter(cycle, pod(), big)
    trial, statement = cycle.clone(), cluster.statement()
    statement.take(pod("new"), "big")
    assert plugin.filter(trial, pod(), big) == FULL
    statement.roll_back()
    assert cycle.read(plugin.state_key()).status("big") is None
