"""Plugins that change what they are handed, keep it for later, or call back at the wrong moment."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import Stage, made, node, pod
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import wait
from mooring.model.objects import Pod

SORT = "profiles:\n- plugins:\n    queueSort: {disabled: [{name: PrioritySort}], enabled: [{name: Bad}]}\n"


def attempt(change: Any, refused: list[str]) -> None:
    try:
        change()
    except Exception as error:
        refused.append(type(error).__name__)


@pytest.mark.parametrize("scope", [Scope.STATIC, Scope.ROW, Scope.CLUSTER])
def test_a_node_is_for_reading(scope: Scope) -> None:
    refused: list[str] = []

    def meddle(self: Any, cycle: Any, pod: Pod, node: Any) -> None:
        attempt(lambda: setattr(node, "row", 1), refused)
        attempt(lambda: setattr(node, "_nodes", None), refused)
        attempt(lambda: node.labels.update(zone="b"), refused)
        attempt(lambda: node.annotations.clear(), refused)
        attempt(lambda: setattr(node.object, "metadata", None), refused)

    stage = Stage(made("Bad", scope=scope, filter=meddle)).nodes(
        node("n", labels={"zone": "a"}), node("m", labels={"zone": "b"})
    )
    assert stage.place(pod("p", node_selector={"zone": "a"})) == "n"
    assert stage.place(pod("q", node_selector={"zone": "a"})) == "n"
    assert stage.place(pod("r", node_selector={"zone": "b"})) == "m"
    assert len(refused) % 5 == 0
    stage.engine.check(afresh=True)


def test_a_pod_is_for_reading() -> None:
    refused: list[str] = []

    def pre_filter(self: Any, cycle: Any, pod: Pod) -> None:
        attempt(lambda: pod.labels.update(app="b"), refused)
        attempt(lambda: pod.metadata.annotations.update(app="b"), refused)
        attempt(lambda: pod.spec.node_selector.update(zone="b"), refused)
        attempt(lambda: setattr(pod, "spec", None), refused)

    stage = Stage(made("Bad", pre_filter=pre_filter)).nodes(
        node("n", labels={"zone": "a"}), node("m", labels={"zone": "b"})
    )
    for name in "pqr":
        assert stage.place(pod(name, node_selector={"zone": "a"}, labels={"app": "a"})) == "n"
    stage.engine.check(afresh=True)


@pytest.mark.parametrize("scope", [Scope.STATIC, Scope.ROW, Scope.CLUSTER])
def test_columns_are_for_reading(scope: Scope) -> None:
    refused: list[str] = []

    def filter_nodes(self: Any, cycle: Any, pod: Pod, nodes: Any) -> Any:
        for read in ("max_pods", "alive", "unschedulable"):
            attempt(lambda: getattr(nodes, read).fill(0), refused)  # noqa: B023
        attempt(lambda: nodes.allocatable("cpu").fill(10**6), refused)
        if scope is not Scope.STATIC:
            attempt(lambda: nodes.requested("cpu").fill(0), refused)
            attempt(lambda: nodes.pod_count.fill(0), refused)
        return nodes.allocatable("cpu") >= 0

    stage = Stage(made("Bad", scope=scope, filter_nodes=filter_nodes)).nodes("n")
    stage.place(pod("p", "3"))
    stage.wait(pod("q", "3"))
    assert refused
    stage.engine.check(afresh=True)


def test_a_mask_that_is_kept_and_changed_later() -> None:
    given: list[Any] = []

    def filter_nodes(self: Any, cycle: Any, pod: Pod, nodes: Any) -> Any:
        given.append(nodes.allocatable("cpu") >= 0)
        return given[-1]

    def score_nodes(self: Any, cycle: Any, pod: Pod, nodes: Any) -> Any:
        given.append(nodes.allocatable("cpu") * 0)
        return given[-1]

    stage = Stage(made("Bad", scope=Scope.ROW, filter_nodes=filter_nodes, score_nodes=score_nodes)).nodes(
        "n", "m"
    )
    for i in range(4):
        stage.place(pod(f"p{i}", "100m"))
        for array in given:
            array.fill(0)
    stage.engine.check(afresh=True)


def test_nodes_that_are_handed_over_are_a_copy() -> None:
    meddles = made("Bad", before_score=lambda self, cycle, pod, nodes: nodes.clear(), score=lambda *a: 0)
    other = made("Other", before_score=lambda self, cycle, pod, nodes: (pod, nodes), score=lambda *a: 0)
    assert Stage(meddles, other).nodes("n", "m").place(pod("p"))


def test_a_cycle_that_is_meddled_with() -> None:
    """Filters said to be skipped, another profile, another time: nobody is put where it does not fit."""

    def meddle(self: Any, cycle: Any, *rest: Any) -> None:
        cycle.skip_filter = frozenset({"NodeResourcesFit"})
        attempt(lambda: setattr(cycle, "profile", "nobody's"), [])
        attempt(lambda: setattr(cycle, "now", "never"), [])
        attempt(lambda: setattr(cycle, "pods_to_activate", (7,)), [])

    for field, value in (("skip_filter", 7), ("skip_score", None), ("written", "x"), ("skip_pre_bind", 1)):
        breaks = made("Bad", reserve=lambda *a: None, filter=lambda s, c, *a: setattr(c, field, value))  # noqa: B023
        stage = Stage(breaks).nodes("n", "m")
        stage.add(p := pod("p"))
        stage.cycle()
        assert stage.holds(p) or "error_backoff" in stage.where(p), field
    for point in ("pre_filter", "after_pre_filter", "filter", "before_filter", "reserve", "permit"):
        members = {"filter": lambda *a: None, "reserve": lambda *a: None, point: meddle}
        stage = Stage(made("Bad", **members)).nodes("n")
        stage.add(*(pod(f"p{i}", "3") for i in range(3)))
        while stage.cycle() is not None:
            assert stage.engine.view.node("n").free("cpu") >= 0, point
        stage.engine.check()


def test_a_pod_in_the_queue_is_for_reading() -> None:
    def sort_key(self: Any, queued: Any) -> Any:
        for name, value in (("where", None), ("ticket", 0), ("pod", None), ("timestamp", "x")):
            attempt(lambda: setattr(queued, name, value), [])  # noqa: B023
        return queued.pod.name

    stage = Stage(made("Bad", sort_key=sort_key), text=SORT).nodes("n")
    stage.add(pod("b", "100m"), pod("a", "100m"))
    assert sorted(stage.all()) == ["a", "b"]


@pytest.mark.parametrize("point", ["pre_enqueue", "pod_seen", "pre_filter", "filter", "score", "unreserve"])
def test_the_engine_does_not_run_within_itself(point: str) -> None:
    """Whoever gets hold of it: an attempt within an attempt would decide on half a state."""
    said: list[str] = []

    def call_back(self: Any, *arguments: Any) -> Any:
        engine = stage.engine
        attempt(lambda: engine.schedule(engine.now), said)
        return 0 if point == "score" else None

    members: dict[str, Any] = {"filter": lambda *a: None, point: call_back}
    if point == "unreserve":
        members |= {"reserve": lambda *a: None, "permit": lambda *a: wait(0)}
    stage = Stage(made("Bad", **members)).nodes("n", "m")
    stage.add(pod("p", "100m"), pod("q", "100m"))
    while stage.engine.schedule(stage.now) is not None:
        pass
    assert "RuntimeError" in said
    stage.engine.check()


def test_a_waiting_pod_that_is_kept_for_later() -> None:
    held: list[Any] = []

    def permit(self: Any, cycle: Any, pod: Pod, node_name: str) -> Any:
        held.extend(self.handle.waiting_pods.values())
        return wait(5)

    stage = Stage(made("Bad", permit=permit)).nodes("n")
    stage.add(first := pod("p", "100m"), pod("q", "100m"))
    stage.cycle()
    stage.cycle()
    stage.delete(first)
    for waits in held:
        waits.allow("Bad")
        waits.reject("Bad", "no")
    stage.tick(100.0)
    stage.engine.check()
