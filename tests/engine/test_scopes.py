"""A plugin sees what it declares, and what it declares is how long its answers are kept."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import Stage, made, node, pod
from mooring.framework.api.plugin import moves_with_nodes
from mooring.framework.api.scope import UNSIGNABLE, Scope
from mooring.framework.api.status import unschedulable
from mooring.model.objects import Pod


def reading(attribute: str) -> Any:
    return lambda self, cycle, pod, node: getattr(node, attribute) and None


@pytest.mark.parametrize(
    ("attribute", "reads"),
    [("pods", "node.pods"), ("pod_count", "node.pod_count"), ("free", "node.free")],
)
def test_static_shows_no_pods(attribute: str, reads: str) -> None:
    nosy = made("Nosy", scope=Scope.STATIC, filter=reading(attribute))
    refusal = Stage(nosy).nodes("n", "m").wait(pod("p"))
    assert refusal.reason == "SchedulerError"
    assert refusal.message == (
        f'running "Nosy" filter plugin: plugin Nosy reads {reads}, '
        "which scope STATIC does not declare: use scope ROW"
    )


@pytest.mark.parametrize("scope", [Scope.STATIC, Scope.ROW])
def test_kept_answers_see_no_cluster(scope: Scope) -> None:
    def look(self: Any, cycle: Any, pod: Any, node: Any) -> None:
        assert self.handle.cluster

    nosy = made("Nosy", scope=scope, filter=look)
    refusal = Stage(nosy).nodes("n", "m").wait(pod("p"))
    assert refusal.message == (
        f'running "Nosy" filter plugin: plugin Nosy reads the cluster, '
        f"which scope {scope.name} does not declare: use scope CLUSTER"
    )


def test_what_is_not_kept_sees_everything() -> None:
    def look(self: Any, cycle: Any, pod: Pod, node: Any) -> Any:
        seen = (len(self.handle.cluster), pod.name, node.pods)
        return None if seen == (1, "p", ()) else unschedulable(repr(seen))

    assert Stage(made("Nosy", filter=look)).nodes("n").place(pod("p")) == "n"


@pytest.mark.parametrize("attribute", ["name", "uid", "status", "metadata", "key"])
def test_kept_answers_see_no_identity(attribute: str) -> None:
    nosy = made(
        "Nosy", scope=Scope.ROW, filter=lambda self, cycle, pod, node: getattr(pod, attribute) and None
    )
    refusal = Stage(nosy).nodes("n", "m").wait(pod("p"))
    assert refusal.message == (
        f'running "Nosy" filter plugin: plugin Nosy keeps its answers for all pods of one shape but reads '
        f"pod.{attribute}: override sign(pod) to return what it reads of a pod"
    )


def test_a_plugin_that_signs_sees_the_pod() -> None:
    named = made(
        "Named",
        scope=Scope.ROW,
        sign=lambda self, pod: pod.name,
        filter=lambda self, cycle, pod, node: None if node.name == pod.name else unschedulable("no"),
    )
    stage = Stage(named).nodes(*"abc")
    assert [stage.place(pod(name, "100m", uid=f"{name}{i}")) for i in range(2) for name in "abc"] == [
        *"abcabc"
    ]


def test_unsignable_pods_share_nothing() -> None:
    named = made(
        "Named",
        scope=Scope.ROW,
        sign=lambda self, pod: UNSIGNABLE,
        filter=lambda self, cycle, pod, node: None if node.name == pod.name else unschedulable("no"),
    )
    stage = Stage(named).nodes(*"abc")
    assert [stage.place(pod(name, "100m", uid=f"{name}{i}")) for i in range(2) for name in "abc"] == [
        *"abcabc"
    ]


def counting(scope: Scope, asked: list[str]) -> type:
    def score(self: Any, cycle: Any, pod: Any, node: Any) -> int:
        asked.append(node.name)
        return 0

    return made("Counts", scope=scope, score=score)


def test_answers_are_kept_as_long_as_the_scope_says() -> None:
    static: list[str] = []
    row: list[str] = []
    stage = Stage(counting(Scope.STATIC, static)).nodes(*"abcd")
    for i in range(6):
        stage.place(pod(f"p{i}", "100m"))
    before = len(static)
    for i in range(6, 9):
        stage.place(pod(f"p{i}", "100m"))
    assert len(static) == before
    stage.change(node("b", labels={"new": "1"}))
    stage.place(pod("q", "100m"))
    assert static[before:] == ["b"]
    stage = Stage(counting(Scope.ROW, row)).nodes(*"abcd")
    for i in range(6):
        stage.place(pod(f"p{i}", "100m"))
    last = stage.place(pod("r", "100m"))
    before = len(row)
    stage.place(pod("s", "100m"))
    assert row[before:] == [last]


@pytest.mark.parametrize("scope", [Scope.STATIC, Scope.ROW])
@pytest.mark.parametrize("how", ["invalidate", "version"])
def test_answers_are_dropped_when_the_world_outside_changes(scope: Scope, how: str) -> None:
    outside = {"best": "a", "version": 0}

    def score(self: Any, cycle: Any, pod: Any, node: Any) -> int:
        return 100 if node.name == outside["best"] else 0

    members: dict[str, Any] = {"scope": scope, "score": score}
    if how == "version":
        members["version"] = property(lambda self: outside["version"])
    text = "profiles:\n- plugins:\n    multiPoint:\n      enabled:\n      - {name: Outside, weight: 50}\n"
    stage = Stage(made("Outside", **members), text=text).nodes(*"abcdefghij")
    assert [stage.place(pod(f"p{i}", "100m")) for i in range(4)] == ["a"] * 4
    outside["best"] = "j"
    if scope is Scope.STATIC:
        assert stage.place(pod("kept", "100m")) == "a"
    if how == "version":
        outside["version"] += 1
    else:
        stage.plugin("Outside").handle.invalidate()
    assert [stage.place(pod(f"q{i}", "100m")) for i in range(4)] == ["j"] * 4


def test_a_known_verdict_is_dropped_too() -> None:
    outside = {"reason": "closed"}
    say = lambda self, cycle, pod, node: unschedulable(outside["reason"])  # noqa: E731
    stage = Stage(made("Outside", scope=Scope.ROW, filter=say)).nodes("n")
    assert [stage.wait(pod(f"p{i}")).message[-7:] for i in range(3)] == ["closed."] * 3
    outside["reason"] = "broken"
    stage.plugin("Outside").handle.invalidate()
    assert stage.wait(pod("q")).message == "0/1 nodes are available: 1 broken."


def test_a_pod_read_by_its_shape_is_a_pod() -> None:
    def look(self: Any, cycle: Any, pod: Pod, node: Any) -> Any:
        shown = (pod.namespace, pod.labels, pod.annotations, pod.priority, pod.preemptible)
        return None if shown == ("default", {"a": "b"}, {"c": "d"}, 7, True) else unschedulable(repr(shown))

    stage = Stage(made("Looks", scope=Scope.ROW, filter=look)).nodes("n")
    subject = {"labels": {"a": "b"}, "annotations": {"c": "d"}, "priority": 7}
    assert [stage.place(pod(f"p{i}", "100m", **subject)) for i in range(3)] == ["n"] * 3


@pytest.mark.parametrize("scope", list(Scope))
def test_every_scope_is_asked_about_every_pod(scope: Scope) -> None:
    def no_m(self: Any, cycle: Any, pod: Any, node: Any) -> Any:
        return unschedulable("not m") if node.name == "m" else None

    stage = Stage(made("NoM", scope=scope, filter=no_m)).nodes("n", "m")
    assert {stage.place(pod(f"p{number}", "1m")) for number in range(6)} == {"n"}


def test_a_version_that_moves_with_nodes_is_asked_for_when_they_change() -> None:
    asked: list[int] = []

    @moves_with_nodes
    def version(self: Any) -> int:
        asked.append(1)
        return len(asked)

    liked = made(
        "Liked",
        scope=Scope.STATIC,
        version=property(version),
        score=lambda self, cycle, pod, node: len(asked),
    )
    stage = Stage(liked).nodes("a", "b")
    stage.place(pod("p0"))
    before = len(asked)
    for number in range(1, 4):
        stage.place(pod(f"p{number}"))
    assert before
    assert len(asked) == before
    stage.nodes("c")
    stage.place(pod("p4"))
    assert len(asked) > before


def test_pre_score_runs_for_every_pod_without_a_score() -> None:
    """Of a plugin that keeps nothing and looks at no node: it is not passed over for what others keep."""
    asked: list[str] = []
    plugin = made("Asks", pre_score=lambda self, cycle, pod, nodes: asked.append(pod.name))
    stage = Stage(plugin).nodes("n", "m")
    for name in "abc":
        stage.place(pod(name, "100m"))
    assert asked == ["a", "b", "c"]
