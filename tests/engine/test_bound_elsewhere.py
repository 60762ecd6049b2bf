"""A bind that failed because somebody else has bound the pod: its place counts before the watch shows it."""

from __future__ import annotations

import pytest

from engine.stage import Stage, node, pod
from mooring.engine.decisions import Bind
from mooring.engine.events import BindFailed
from mooring.model.objects import Pod


def bound_elsewhere(*, deleted: bool = False) -> tuple[Stage, Pod]:
    """A pod of 3 CPUs, decided for node `a` of 4, that is on node `b` of 4 by now."""
    stage, web = Stage().nodes(node("a", "4"), node("b", "2")), pod("web", "3")
    bind = stage.try_pod(web)
    assert isinstance(bind, Bind)
    assert bind.node == "a"
    stage.change(node("b", "4"))
    if deleted:
        stage.delete(web)
    assert stage.engine.handle(BindFailed(web, "a", "already assigned", "b"), stage.now) == []
    stage.engine.check()
    return stage, web


def test_its_place_counts_and_the_other_is_free() -> None:
    stage, web = bound_elsewhere()
    assert stage.holds(web) == "b"
    assert stage.where(web) == ""
    assert stage.place(pod("other", "3")) == "a"
    assert "2 Insufficient cpu" in stage.wait(pod("third", "3")).message


def test_what_the_watch_says_later_counts() -> None:
    stage, web = bound_elsewhere()
    stage.change(web)  # from before it was bound
    assert stage.holds(web) == "b"
    stage.change(web.on_node("b"))
    assert stage.holds(web) == "b"
    stage.delete(web.on_node("b"))
    assert stage.holds(web) == ""
    assert {stage.place(pod("one", "4")), stage.place(pod("two", "4"))} == {"a", "b"}


@pytest.mark.parametrize("first", ["deleted", "shown"])
def test_the_watch_was_faster(first: str) -> None:
    if first == "deleted":
        stage, web = bound_elsewhere(deleted=True)
        assert stage.holds(web) == ""
    else:
        stage, web = Stage().nodes(node("a", "4")), pod("web", "3")
        stage.try_pod(web)
        stage.nodes(node("b", "4"), node("c", "4"))
        stage.change(web.on_node("b"))
        stage.engine.handle(BindFailed(web, "a", "already assigned", "c"), stage.now)
        assert stage.holds(web) == "b"
    stage.engine.check()
    assert stage.where(web) == ""


def test_a_report_about_a_pod_that_went_and_is_shown_again_changes_nothing() -> None:
    stage, web = Stage().nodes(node("a", "4")), pod("web", "3")
    assert isinstance(stage.try_pod(web), Bind)
    stage.delete(web)
    stage.change(web.on_node("a"))
    assert stage.engine.handle(BindFailed(web, "a", "too late"), stage.now) == []
    assert stage.holds(web) == "a"
    stage.engine.check()
