"""The sentence that says why a pod fits nowhere."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import BARE, Stage, made, node, pod
from mooring.framework.api.answers import PostFilterResult
from mooring.framework.api.status import Code, Status, unresolvable, unschedulable
from mooring.model.objects import Pod, Taint


def by_name(**reasons: str) -> type:
    """Rejects nodes for the reason that stands for the first letter of their name."""

    def say(self: Any, cycle: Any, pod: Pod, node: Any) -> Status | None:
        reason = reasons.get(node.name[0])
        return unschedulable(reason) if reason else None

    return made("ByName", filter=say)


def nodes(text: str) -> list[str]:
    return [f"{letter}{i}" for i, letter in enumerate(text)]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        pytest.param("xyx", "0/3 nodes are available: 1 Y, 2 X.", id="K15"),
        pytest.param("x" * 12 + "yy", "0/14 nodes are available: 12 X, 2 Y.", id="K18 sorted as text"),
        pytest.param("yy" + "x" * 10, "0/12 nodes are available: 10 X, 2 Y.", id="ten before two"),
    ],
)
def test_counts_reasons(names: str, message: str) -> None:
    stage = Stage(by_name(x="X", y="Y"), base=BARE).nodes(*nodes(names))
    assert stage.wait(pod("p")).message == message


@pytest.mark.parametrize(
    ("after", "message"),
    [
        pytest.param(None, "0/3 nodes are available: M.", id="K16"),
        pytest.param(unschedulable("P"), "0/3 nodes are available: M. P", id="K17"),
        pytest.param(unresolvable("P", "Q"), "0/3 nodes are available: M. P, Q", id="several reasons"),
        pytest.param(PostFilterResult(), "0/3 nodes are available: M.", id="a way out says nothing"),
    ],
)
def test_a_pod_rejected_before_any_node_was_asked(after: Any, message: str) -> None:
    before = made("Before", pre_filter=lambda self, cycle, pod: unschedulable("M"))
    post = made("Post", post_filter=lambda self, cycle, pod, statuses: after)
    wait = Stage(before, post, base=BARE).nodes(*"abc").wait(pod("p"))
    assert wait.message == message
    assert (wait.reason, wait.plugins) == ("Unschedulable", ("Before",))


@pytest.mark.parametrize("point", ["reserve", "permit"])
def test_k19_a_pod_rejected_on_its_node(point: str) -> None:
    late = made("Late", **{point: lambda self, cycle, pod, node_name: unschedulable("R")})
    wait = Stage(late).nodes(*"abc").wait(p := pod("p"))
    assert wait.message == "0/1 nodes are available: 1 R."
    assert (wait.plugins, wait.nominated) == (("Late",), "")
    assert p.uid


def test_k20_no_nodes() -> None:
    stage = Stage()
    wait = stage.wait(p := pod("p"))
    assert wait.message == "no nodes available to schedule pods"
    assert (wait.reason, wait.plugins) == ("Unschedulable", ())
    assert stage.where(p) == "error_backoff"


def test_a_node_counts_once_per_reason() -> None:
    stage = Stage().nodes("n", node("big", "16"))
    wait = stage.wait(pod("p", "8", "64Gi"))
    assert wait.message == "0/2 nodes are available: 1 Insufficient cpu, 2 Insufficient memory."


def test_the_default_plugins_in_their_words() -> None:
    stage = Stage().nodes(
        node("cordoned", unschedulable=True),
        node("tainted", taints=(Taint(key="t", effect="NoExecute"),)),
        node("other", labels={"zone": "b"}),
        node("full", "1", labels={"zone": "a"}),
    )
    wait = stage.wait(pod("p", "2", node_selector={"zone": "a"}))
    assert wait.message == (
        "0/4 nodes are available: 1 Insufficient cpu, 1 node(s) didn't match Pod's node affinity/selector, "
        "1 node(s) had untolerated taint(s), 1 node(s) were unschedulable."
    )
    assert wait.plugins == ("NodeAffinity", "NodeResourcesFit", "NodeUnschedulable", "TaintToleration")


def test_a_known_verdict_follows_the_cluster() -> None:
    stage = Stage().nodes("n")
    assert stage.wait(pod("p", "8")).message == "0/1 nodes are available: 1 Insufficient cpu."
    stage.nodes(node("m", unschedulable=True))
    expected = "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
    assert stage.wait(pod("q", "8")).message == expected
    assert stage.wait(pod("r", "8")).message == expected
    stage.change(node("m"))
    assert stage.wait(pod("s", "8")).message == "0/2 nodes are available: 2 Insufficient cpu."


def test_post_filters_hear_which_nodes_eviction_may_help() -> None:
    heard: dict[str, Code] = {}

    def post_filter(self: Any, cycle: Any, pod: Pod, statuses: Any) -> None:
        heard.update({name: statuses[name].code for name in statuses})

    stage = Stage(made("Post", post_filter=post_filter)).nodes("n", node("small", "1"))
    stage.running(pod("r", "3"), "n")
    stage.wait(pod("p", "2"))
    assert heard == {"n": Code.UNSCHEDULABLE, "small": Code.UNSCHEDULABLE_AND_UNRESOLVABLE}


def test_a_post_filter_that_is_sure_stops_the_others() -> None:
    first = made("First", post_filter=lambda self, cycle, pod, statuses: unresolvable("never"))
    second = made("Second", post_filter=lambda self, cycle, pod, statuses: unschedulable("unheard"))
    stage = Stage(first, second).nodes("n")
    assert stage.wait(pod("p", "8")).message == "0/1 nodes are available: 1 Insufficient cpu. never"
