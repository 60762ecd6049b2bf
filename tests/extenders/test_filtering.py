"""Filtering by extenders: what is asked, what is left, what is said when nothing is."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import Stage, made, node, pod
from extenders.talk import URL, answer, extender, park, sent, stage
from mooring.engine.decisions import Bind, Consult, Wait
from mooring.framework.api.status import unschedulable
from mooring.model.texts import LONGEST_SAID


def test_asked_about_the_nodes_that_pass_the_filters() -> None:
    world = stage(extender(), nodes=("a", node("small", cpu="500m"), "c"))
    question = park(world, pod("p"))
    assert (question.extender, question.verb) == (0, "filter")
    assert sent(question)["NodeNames"] == ["a", "c"]
    assert sent(question)["Nodes"] is None
    assert sent(question)["Pod"]["metadata"]["name"] == "p"


def test_takes_a_node_that_is_left() -> None:
    world = stage(extender())
    (bind,) = answer(world, park(world, pod("p")), {"NodeNames": ["b"]})
    assert isinstance(bind, Bind)
    assert (bind.node, bind.extender) == ("b", None)
    world.bound(bind)


def test_a_node_named_twice_counts_once() -> None:
    world = stage(extender(), extender())
    (question,) = answer(world, park(world, pod("p")), {"NodeNames": ["b", "c", "b"]})
    assert sent(question)["NodeNames"] == ["b", "c"]


def test_who_does_not_cache_nodes_gets_them_in_full() -> None:
    world = stage(extender(node_cache_capable=False))
    question = park(world, pod("p"))
    listed = sent(question)["Nodes"]["items"]
    assert [each["metadata"]["name"] for each in listed] == ["a", "b", "c"]
    assert listed[0]["status"]["allocatable"]["cpu"] == "4"
    assert sent(question)["NodeNames"] is None
    (bind,) = answer(world, question, {"Nodes": {"items": [{"metadata": {"name": "c"}}]}})
    assert isinstance(bind, Bind)
    assert bind.node == "c"


def test_one_after_the_other_ignorable_ones_last() -> None:
    world = stage(extender(ignorable=True), extender(), extender())
    first = park(world, pod("p"))
    assert first.extender == 1
    (second,) = answer(world, first, {"NodeNames": ["a", "b"]})
    assert isinstance(second, Consult)
    assert (second.extender, sent(second)["NodeNames"]) == (2, ["a", "b"])
    (third,) = answer(world, second, {"NodeNames": ["b"]})
    assert isinstance(third, Consult)
    assert (third.extender, sent(third)["NodeNames"]) == (0, ["b"])
    (bind,) = answer(world, third, {"NodeNames": ["b"]})
    assert isinstance(bind, Bind)


def test_the_next_one_is_not_asked_when_nothing_is_left() -> None:
    world = stage(extender(), extender())
    (wait,) = answer(world, park(world, pod("p")), {"NodeNames": []})
    assert isinstance(wait, Wait)


def test_reasons_are_counted_with_those_of_plugins() -> None:
    world = stage(extender(), nodes=("a", "b", "c", node("d", cpu="500m"), "e"))
    said = {
        "NodeNames": [],
        "FailedNodes": {"a": "out of devices", "b": "out of devices", "c": "no such device"},
        "FailedAndUnresolvableNodes": {"c": "never"},
    }
    (wait,) = answer(world, park(world, pod("p")), said)
    assert isinstance(wait, Wait)
    assert wait.message == "0/5 nodes are available: 1 Insufficient cpu, 1 never, 2 out of devices."
    assert wait.plugins == ("Extender", "NodeResourcesFit")
    assert wait.reason == "Unschedulable"


def test_preemption_learns_which_nodes_are_beyond_help() -> None:
    seen: list[Any] = []

    def post_filter(self: Any, cycle: Any, pod: Any, statuses: Any) -> Any:
        seen.extend(statuses.resolvable())
        return unschedulable()

    world = Stage(made("Looks", post_filter=post_filter), extenders=(extender(),)).nodes("a", "b", "c")
    said = {"NodeNames": [], "FailedNodes": {"a": "full"}, "FailedAndUnresolvableNodes": {"b": "never"}}
    answer(world, park(world, pod("p")), said)
    assert seen == ["a"]


def test_a_pod_that_passes_no_filter_is_nobody_elses_business() -> None:
    world = stage(extender())
    assert world.wait(pod("p", "9")).message == "0/3 nodes are available: 3 Insufficient cpu."


def test_pods_of_other_resources_are_not_held_up() -> None:
    world = stage(extender(managed=("example.com/gpu",)))
    assert world.place(pod("p")) in "abc"


# what goes wrong


UNKNOWN = f'extender "{URL}" claims a filtered node "x" which is not found in the input node list'
NAMED = f"extender {URL}: out of order"


@pytest.mark.parametrize(
    ("said", "error", "message"),
    [
        pytest.param({"NodeNames": ["a", "x"]}, "", UNKNOWN, id="unknown node"),
        pytest.param({"NodeNames": ["a"], "Error": "out of order"}, "", NAMED, id="its own error"),
        pytest.param(None, "failed filter with extender at URL u, code 500", None, id="no answer"),
    ],
)
def test_a_failure_costs_the_cycle(said: Any, error: str, message: str | None) -> None:
    world = stage(extender())
    subject = pod("p")
    (wait,) = answer(world, park(world, subject), said, error=error)
    assert isinstance(wait, Wait)
    assert (wait.reason, wait.message) == ("SchedulerError", message or error)
    assert wait.plugins == ("Extender",)
    assert world.where(subject) == "error_backoff"


def test_a_node_that_did_not_pass_the_filters_is_unknown() -> None:
    world = stage(extender(), nodes=("a", node("x", cpu="500m")))
    (wait,) = answer(world, park(world, pod("p")), {"NodeNames": ["a", "x"]})
    assert isinstance(wait, Wait)
    assert wait.message == UNKNOWN


def test_an_unknown_node_in_full() -> None:
    world = stage(extender(node_cache_capable=False))
    (wait,) = answer(world, park(world, pod("p")), {"Nodes": {"items": [{"metadata": {"name": "x"}}]}})
    assert isinstance(wait, Wait)
    assert wait.message == UNKNOWN


@pytest.mark.parametrize(
    ("said", "error"),
    [({"NodeNames": ["x"]}, ""), ({"Error": "no"}, ""), ("nonsense", ""), (None, "timeout")],
)
def test_the_failure_of_an_ignorable_one_does_not_matter(said: Any, error: str) -> None:
    world = stage(extender(ignorable=True))
    (bind,) = answer(world, park(world, pod("p")), said, error=error)
    assert isinstance(bind, Bind)


# waking up again


def test_what_an_extender_rejects_is_tried_again_after_any_event() -> None:
    world = stage(extender())
    subject = pod("p")
    answer(world, park(world, subject), {"NodeNames": []})
    assert world.where(subject) == "unschedulable"
    assert world.queued(subject).unschedulable_plugins == {"Extender"}
    world.nodes("d")
    assert world.where(subject) == "backoff"


def test_an_event_that_came_while_it_was_parked_counts() -> None:
    world = stage(extender())
    subject = pod("p")
    question = park(world, subject)
    world.nodes("d")
    answer(world, question, {"NodeNames": []})
    assert world.where(subject) == "backoff"


def test_words_without_end_are_cut() -> None:
    """Of a reason, of an error, and of a name that was not sent."""
    world = stage(extender())
    why = {"a": "x" * 5_000_000, "b": "caf\u00e9", "c": "c"}
    (wait,) = answer(world, park(world, pod("p")), {"NodeNames": [], "FailedNodes": why})
    assert isinstance(wait, Wait)
    assert len(wait.message) < 1200
    for data in ({"Error": "x" * 1_000_000}, {"NodeNames": ["x" * 1_000_000]}):
        world = stage(extender())
        (wait,) = answer(world, park(world, pod("p")), data)
        assert isinstance(wait, Wait)
        assert len(wait.message) <= LONGEST_SAID + 100  # and who says it


def test_says_how_many_nodes_it_asks_about() -> None:
    world = stage(extender())
    assert park(world, pod("p")).nodes == 3
