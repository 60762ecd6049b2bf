"""Scheduling classes: which pods share one evaluation."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import Stage, made, pod
from mooring.framework.api.scope import UNSIGNABLE, Scope
from mooring.framework.api.status import unschedulable
from mooring.model.objects import (
    Affinity,
    LabelSelectorRequirement,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    Toleration,
)


def class_of(stage: Stage, subject: Pod) -> Any:
    return stage.engine.hooks.classes["default-scheduler"].of(stage.engine.specs.shared(subject))


def test_equal_pods_share_a_class_whatever_they_are_called() -> None:
    stage = Stage()
    assert class_of(stage, pod("a")) is class_of(stage, pod("b", namespace="other", labels={"x": "y"}))


def test_pods_differ_by_what_some_plugin_reads() -> None:
    stage = Stage()
    kinds = [
        pod("cpu", "2"),
        pod("memory", "1", "1Gi"),
        pod("tolerant", tolerations=(Toleration(operator="Exists"),)),
        pod("choosy", node_selector={"a": "b"}),
        pod("imaged", image="app:1"),
        pod("plain"),
    ]
    assert len({class_of(stage, each).id for each in kinds}) == len(kinds)


def test_priority_makes_no_difference() -> None:
    stage = Stage()
    assert class_of(stage, pod("a", priority=1)) is class_of(stage, pod("b", priority=2))


def test_labels_count_only_through_selectors_that_look_at_them() -> None:
    stage = Stage(made("Selects", scope=Scope.ROW, sign=lambda self, pod: 1, filter=lambda *a: None))
    web = [pod(f"web-{i}", labels={"app": "web", "index": str(i)}) for i in range(3)]
    other = pod("db", labels={"app": "db"})
    assert len({class_of(stage, each).id for each in (*web, other)}) == 1
    handle = stage.plugin("Selects").handle
    number = handle.register_selector("app=web", lambda namespace, labels: labels.get("app") == "web")
    assert handle.register_selector("app=web", lambda namespace, labels: False) == number
    assert len({class_of(stage, each).id for each in web}) == 1
    assert class_of(stage, web[0]).matches == (number,)
    assert class_of(stage, other).matches == ()
    assert class_of(stage, pod("new", labels={"app": "web", "x": "y"})) is class_of(stage, web[0])


def test_pods_pinned_to_a_node_by_name_share_one_class() -> None:
    def pinned(name: str) -> Pod:
        pin = LabelSelectorRequirement(key="metadata.name", operator="In", values=(name,))
        terms = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(pin,)),))
        affinity = NodeAffinity(required_during_scheduling_ignored_during_execution=terms)
        return pod(f"ds-{name}", "100m", affinity=Affinity(node_affinity=affinity))

    names = [f"n{i}" for i in range(6)]
    stage = Stage().nodes(*names)
    assert len({class_of(stage, pinned(name)).id for name in names}) == 1
    assert [stage.place(pinned(name)) for name in names] == names


def test_a_plugin_that_does_not_sign_tells_pods_apart_by_all_but_their_names() -> None:
    stage = Stage(made("Reads", scope=Scope.ROW, filter=lambda *a: None))
    assert class_of(stage, pod("a")) is class_of(stage, pod("b"))
    plain = class_of(stage, pod("a"))
    assert class_of(stage, pod("a", labels={"x": "y"})) is not plain
    assert class_of(stage, pod("a", annotations={"x": "y"})) is not plain
    assert class_of(stage, pod("a", namespace="other")) is not plain
    assert class_of(stage, pod("a", priority=3)) is not plain


def test_plugins_that_keep_nothing_make_a_class_that_is_not_kept() -> None:
    assert class_of(Stage(), pod("p")).keeps
    assert not class_of(Stage(made("Free", filter=lambda *a: None)), pod("p")).keeps
    uninterested = made("Free", sign=lambda self, pod: None, filter=lambda *a: None)
    assert class_of(Stage(uninterested), pod("p")).keeps


def test_a_plugin_with_nothing_to_say_is_not_asked() -> None:
    asked: list[str] = []
    members = {
        "sign": lambda self, pod: 1 if pod.labels else None,
        "pre_filter": lambda self, cycle, pod: asked.append(f"before {pod.name}"),
        "filter": lambda self, cycle, pod, node: asked.append(pod.name),
        "score": lambda self, cycle, pod, node: asked.append(pod.name) or 0,
    }
    stage = Stage(made("Choosy", **members)).nodes("n")
    stage.place(pod("quiet"))
    assert asked == []
    stage.place(pod("loud", labels={"x": "y"}))
    assert asked == ["before loud", "loud"]


def test_an_unsignable_pod_is_alone() -> None:
    stage = Stage(made("Unique", scope=Scope.ROW, sign=lambda self, pod: UNSIGNABLE, filter=lambda *a: None))
    one, other = class_of(stage, pod("a")), class_of(stage, pod("a"))
    assert one is not other
    assert not one.shared


def test_equal_specs_become_one_object() -> None:
    stage = Stage()
    one, other = (stage.engine.specs.shared(pod(name, "1")) for name in "ab")
    assert one.spec is other.spec
    assert one.name != other.name


def test_classes_that_a_plugin_signs_but_does_not_judge_are_not_filtered_by_it() -> None:
    """Who runs for a class is sorted out once for all that concern the same plugins in the same way."""
    reserved: list[str] = []
    picky = made(
        "Picky",
        scope=Scope.ROW,
        sign=lambda self, pod: pod.labels.get("picky"),
        judges=lambda self, sign: sign == "yes",
        filter=lambda self, cycle, pod, node: unschedulable("not here"),
        reserve=lambda self, cycle, pod, node_name: reserved.append(pod.name),
    )
    stage = Stage(picky).nodes("n")
    assert stage.place(pod("no", labels={"picky": "no"})) == "n"
    assert "not here" in stage.wait(pod("yes", labels={"picky": "yes"})).message
    assert stage.place(pod("another", labels={"picky": "no"})) == "n"
    assert stage.place(pod("silent")) == "n"
    assert reserved == ["no", "another"]


@pytest.mark.parametrize("method", ["judges", "pre_filters"])
def test_a_plugin_that_fails_to_say_whom_it_concerns_fails_alone(method: str) -> None:
    def fails(self: Any, sign: Any) -> bool:
        raise ValueError("oops")

    broken = made(
        "Broken",
        scope=Scope.STATIC,
        sign=lambda self, pod: pod.labels.get("ask"),
        pre_filter=lambda self, cycle, pod: None,
        filter=lambda self, cycle, pod, node: None,
        **{method: fails},
    )
    stage = Stage(broken).nodes("n")
    wait = stage.wait(pod("asks", labels={"ask": "yes"}))
    assert (wait.plugins, wait.message) == (
        ("Broken",),
        f'running {method} of plugin "Broken": ValueError: oops',
    )
    assert stage.place(pod("other")) == "n"
