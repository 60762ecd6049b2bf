"""The world policy authors test with."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mooring import Cycle, Node, Plugin, PluginArgs, Pod, Scope, Status, unschedulable
from mooring.errors import PolicyError
from mooring.testing import World, check_conformance, cluster, node, pod
from mooring.testing.conformance import ConformanceError

Make = Callable[..., World]


class Tiered(Plugin):
    """Keeps pods off nodes of another tier and prefers emptier ones."""

    scope = Scope.ROW

    class Args(PluginArgs, frozen=True):
        label: str = "tier"

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        tier = pod.labels.get(self.args.label)
        if tier and node.labels.get(self.args.label) != tier:
            return unschedulable("node(s) are of another tier")
        return None

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return max(0, 100 - 10 * node.pod_count)


class Forgetful(Tiered):
    """Reads labels of the pod and says that it does not."""

    def sign(self, pod: Pod) -> int:
        return 0


class Peeking(Tiered):
    """Says that it looks at one node and looks at all."""

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return len(self.handle.cluster.nodes)


def test_taint_keeps_pod_away(make_cluster: Make) -> None:
    world = make_cluster(node("gpu-1").taint("gpu"), node("plain-1"))
    assert world.schedule(pod("web")) == "plain-1"


def test_a_pod_that_does_not_fit_says_why(make_cluster: Make) -> None:
    world = make_cluster(node("a").has(cpu=1))
    big = pod("big").requests(cpu=2)
    assert world.schedule(big) is None
    assert world.message(big).startswith("0/1 nodes are available: 1 Insufficient cpu.")


def test_room_that_becomes_free_is_used(make_cluster: Make) -> None:
    first, second = pod("first").requests(cpu=1), pod("second").requests(cpu=1)
    world = make_cluster(node("a").has(cpu=1))
    assert world.schedule(first) == "a"
    assert world.schedule(second) is None
    world.remove(first)
    world.advance(15)
    assert world.placements == {"default/second": "a"}


def test_a_policy_takes_part_with_its_arguments(make_cluster: Make) -> None:
    world = make_cluster(
        node("a").label("grade", "gold"), node("b"),
        policies=[Tiered], args={"Tiered": Tiered.Args(label="grade")},
    )  # fmt: skip
    assert world.schedule(pod("x").label("grade", "gold")) == "a"
    silver = pod("y").label("grade", "silver")
    assert world.schedule(silver) is None
    assert world.message(silver).startswith("0/2 nodes are available: 2 node(s) are of another tier.")


def test_a_story_counts_reasons_and_shows_scores(make_cluster: Make) -> None:
    world = make_cluster(node("a").taint("x"), node("b"), node("c").has(cpu=1).label("tier", "gold"))
    wanted = pod("x").requests(cpu=2)
    world.schedule(wanted)
    story = world.story(wanted)
    assert story is not None
    assert story.node == "b"
    assert {(r.plugin, r.reason, r.nodes) for r in story.rejections} == {
        ("TaintToleration", "node(s) had untolerated taint(s)", 1),
        ("NodeResourcesFit", "Insufficient cpu", 1),
    }
    assert [(c.node, c.total) for c in story.best] == [("b", sum(story.best[0].parts.values()))]


def test_conformance_passes_a_policy_that_keeps_its_promises() -> None:
    check_conformance(Tiered, rounds=5)


def test_conformance_finds_a_signature_that_leaves_something_out() -> None:
    with pytest.raises(ConformanceError, match="Forgetful breaks its promise"):
        check_conformance(Forgetful, rounds=20)


def test_a_plugin_that_looks_further_than_it_says_is_refused() -> None:
    with pytest.raises(PolicyError, match="reads the cluster, which scope ROW does not declare"):
        cluster(node("a"), node("b"), policies=[Peeking])


def test_a_pod_that_was_not_tried_says_what_it_waits_for(make_cluster: Make) -> None:
    world = make_cluster(node("n"))
    gang = "gang.scheduling.koordinator.sh/"
    alone = pod("w0").annotation(f"{gang}name", "train").annotation(f"{gang}min-available", "2")
    assert world.schedule(alone) is None
    assert world.message(alone) == "gang default/train: needs 2 pods; 1 is there, 1 is missing"
