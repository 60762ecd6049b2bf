"""A parked pod holds nothing: the world goes on, and it finds it as it then is."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from engine.stage import BARE, Stage, changed, made, node, pod
from extenders.talk import answer, extender, park, prioritizer, scores, sent, stage
from mooring.engine.decisions import Bind, Consult, Wait
from mooring.model.objects import Affinity, LabelSelector, PodAffinity, PodAffinityTerm
from mooring.plugins.topology.interpod import InterPodAffinity

GPU = "example.com/gpu"


def gpu_pod(name: str, cpu: str = "1", **more: Any) -> Any:
    return pod(name, cpu, extra={GPU: "1"}, **more)


def gpu_stage(*names: str) -> Stage:
    """Only pods that want a gpu are held up by the extender."""
    return stage(extender(managed=(GPU,)), nodes=tuple(node(n, cpu="2", extra={GPU: "8"}) for n in names))


def test_others_are_placed_meanwhile() -> None:
    world = gpu_stage("a", "b")
    question = park(world, parked := gpu_pod("parked"))
    assert world.where(parked) == "in_flight"
    assert world.holds(parked) == ""
    assert world.place(pod("other")) in "ab"
    assert world.cycle() is None
    (bind,) = answer(world, question, {"NodeNames": ["a", "b"]})
    assert isinstance(bind, Bind)
    assert world.holds(parked) == bind.node


def test_a_node_that_filled_up_meanwhile_is_not_taken() -> None:
    world = gpu_stage("a", "b")
    question = park(world, gpu_pod("parked", "2"))
    world.running(pod("big", "2"), "a")
    (bind,) = answer(world, question, {"NodeNames": ["a", "b"]})
    assert isinstance(bind, Bind)
    assert bind.node == "b"


def test_the_next_best_is_taken() -> None:
    world = stage(prioritizer(), nodes=tuple(node(n, cpu="2") for n in "abc"))
    question = park(world, pod("parked", "2"))
    world.running(pod("big", "2"), "c")
    (bind,) = answer(world, question, scores(a=1, b=2, c=9))
    assert isinstance(bind, Bind)
    assert bind.node == "b"


def test_when_all_filled_up_it_waits_as_usual() -> None:
    world = gpu_stage("a", "b")
    question = park(world, parked := gpu_pod("parked", "2"))
    world.running(pod("big", "2"), "a")
    (wait,) = answer(world, question, {"NodeNames": ["a"], "FailedNodes": {"b": "out of order"}})
    assert isinstance(wait, Wait)
    assert wait.message == "0/2 nodes are available: 1 Insufficient cpu, 1 out of order."
    assert world.where(parked) == "backoff"  # something happened since it was asked about


def test_what_pods_placed_meanwhile_forbid_is_forbidden() -> None:
    term = PodAffinityTerm(topology_key="zone", label_selector=LabelSelector(match_labels={"app": "web"}))
    apart = Affinity(
        pod_anti_affinity=PodAffinity(required_during_scheduling_ignored_during_execution=(term,))
    )
    world = Stage(InterPodAffinity, extenders=(extender(),))
    world.nodes(*(node(n, labels={"zone": n}) for n in "ab"))
    question = park(world, pod("parked", affinity=apart))
    world.running(pod("web", labels={"app": "web"}), "a")
    (bind,) = answer(world, question, {"NodeNames": ["a", "b"]})
    assert isinstance(bind, Bind)
    assert bind.node == "b"


def test_two_parked_pods_do_not_get_one_place() -> None:
    world = stage(extender(), nodes=(node("a", cpu="1"),))
    first, second = park(world, pod("first")), park(world, pod("second"))
    (bind,) = answer(world, second, {"NodeNames": ["a"]})
    assert isinstance(bind, Bind)
    (wait,) = answer(world, first, {"NodeNames": ["a"]})
    assert isinstance(wait, Wait)
    assert wait.message == "0/1 nodes are available: 1 Insufficient cpu."


# what happens to the pod or its nodes meanwhile


def test_a_pod_deleted_meanwhile_is_forgotten() -> None:
    world = stage(extender())
    question = park(world, parked := pod("p"))
    world.delete(parked)
    assert answer(world, question, {"NodeNames": ["a"]}) == []
    assert world.where(parked) == ""
    assert not world.engine.extenders.consulting  # type: ignore[union-attr]


def test_an_answer_to_a_former_attempt_is_ignored() -> None:
    world = stage(extender())
    old = park(world, parked := pod("p"))
    world.delete(parked)
    new = park(world, parked)
    assert answer(world, old, {"NodeNames": ["a"]}) == []
    (bind,) = answer(world, new, {"NodeNames": ["b"]})
    assert isinstance(bind, Bind)
    assert bind.node == "b"


def test_a_pod_bound_by_somebody_else_stays_there() -> None:
    world = stage(extender())
    question = park(world, parked := pod("p"))
    world.running(parked, "c")
    assert answer(world, question, {"NodeNames": ["a"]}) == []
    assert world.holds(parked) == "c"


def test_a_pod_on_its_way_out_gets_no_place() -> None:
    world = stage(extender())
    question = park(world, parked := pod("p"))
    meta = msgspec.structs.replace(parked.metadata, deletion_timestamp="2030-01-01T00:00:00Z")
    world.change(msgspec.structs.replace(parked, metadata=meta))
    assert answer(world, question, {"NodeNames": ["a"]}) == []
    assert world.where(parked) == ""


def test_a_pod_changed_meanwhile_is_placed_as_it_is_now() -> None:
    world = stage(extender(), nodes=("a", node("b", labels={"disk": "ssd"})))
    question = park(world, parked := pod("p"))
    world.change(changed(parked, node_selector={"disk": "ssd"}))
    (bind,) = answer(world, question, {"NodeNames": ["a", "b"]})
    assert isinstance(bind, Bind)
    assert bind.node == "b"


def test_a_node_that_went_meanwhile_is_not_taken() -> None:
    world = stage(extender())
    question = park(world, pod("p"))
    world.delete(node("a"))
    (bind,) = answer(world, question, {"NodeNames": ["a", "b"], "FailedNodes": {"c": "no"}})
    assert isinstance(bind, Bind)
    assert bind.node == "b"


def test_a_node_that_came_meanwhile_was_not_asked_about() -> None:
    world = stage(extender())
    question = park(world, pod("p"))
    world.nodes("d")
    (wait,) = answer(world, question, {"NodeNames": ["a", "d"]})
    assert isinstance(wait, Wait)
    assert wait.message.endswith('claims a filtered node "d" which is not found in the input node list')


def test_a_node_that_took_the_row_of_another_was_not_asked_about() -> None:
    world = stage(extender(), nodes=("a",))
    question = park(world, pod("p"))
    world.delete(node("a"))
    world.nodes("z")
    (wait,) = answer(world, question, {"NodeNames": ["a"]})
    assert isinstance(wait, Wait)


def test_when_all_nodes_went_there_is_no_node() -> None:
    world = stage(extender(), nodes=("a",))
    question = park(world, pod("p"))
    world.delete(node("a"))
    (wait,) = answer(world, question, {"NodeNames": ["a"]})
    assert isinstance(wait, Wait)
    assert wait.message == "no nodes available to schedule pods"


# nominated pods


def test_the_node_a_pod_is_nominated_to_is_asked_about_alone() -> None:
    world = stage(extender(prioritize_verb="prioritize", weight=1))
    question = park(world, pod("p", nominated="b"))
    assert sent(question)["NodeNames"] == ["b"]
    (bind,) = answer(world, question, {"NodeNames": ["b"]})
    assert isinstance(bind, Bind)
    assert bind.node == "b"


def test_when_it_will_not_do_all_are_looked_at() -> None:
    world = stage(extender())
    question = park(world, pod("p", nominated="b"))
    (again,) = answer(world, question, {"NodeNames": []})
    assert isinstance(again, Consult)
    assert sent(again)["NodeNames"] == ["a", "b", "c"]
    (bind,) = answer(world, again, {"NodeNames": ["c"]})
    assert isinstance(bind, Bind)


def test_a_failure_over_the_nominated_node_is_ignored() -> None:
    world = stage(extender())
    (again,) = answer(world, park(world, pod("p", nominated="b")), error="timeout")
    assert isinstance(again, Consult)
    assert sent(again)["NodeNames"] == ["a", "b", "c"]


# nothing else is different


@pytest.mark.parametrize("seed", range(5))
def test_an_extender_that_passes_everything_changes_nothing(seed: int) -> None:
    source = random.Random(seed)
    nodes = [node(f"n{i}", cpu=str(source.randint(2, 6)), memory="16Gi") for i in range(8)]
    pods = [pod(f"p{i}", f"{source.randint(1, 20) * 100}m", f"{source.randint(1, 9)}Gi") for i in range(40)]
    first = "profiles:\n- pluginConfig:\n  - {name: Mooring, args: {ties: First}}\n"
    asked, alone = Stage(text=first, extenders=(extender(),)).nodes(*nodes), Stage(text=first).nodes(*nodes)
    for each in pods:
        alone.add(each)
        asked.add(each)
        (expected,) = alone.cycle() or ()
        (found,) = asked.cycle() or ()
        if isinstance(found, Consult):
            (found,) = answer(asked, found, {"NodeNames": sent(found)["NodeNames"]})
        assert type(found) is type(expected)
        if isinstance(found, Bind) and isinstance(expected, Bind):
            assert found.node == expected.node
            asked.bound(found)
            alone.bound(expected)
        elif isinstance(found, Wait) and isinstance(expected, Wait):
            assert found.message == expected.message


# other styles


def test_a_session_is_open_whenever_the_pod_is_looked_at() -> None:
    log: list[str] = []
    watcher = made(
        "Watcher",
        on_session_open=lambda self, session: log.append("open"),
        on_session_close=lambda self, session: log.append("close"),
    )
    world = Stage(watcher, base=BARE, extenders=(extender(),)).nodes("a", "b")
    question = park(world, pod("p"))
    assert world.cycle() is None
    assert log == ["open", "close"]
    answer(world, question, {"NodeNames": ["a"]})
    assert log == ["open", "close", "open"]
    assert world.cycle() is None
    assert log == ["open", "close"] * 2


def test_the_story_names_what_extenders_rejected() -> None:
    world = stage(extender(), nodes=("a", "b", "c", node("small", cpu="500m")))
    answer(world, park(world, pod("p")), {"NodeNames": ["c"], "FailedNodes": {"a": "out of order"}})
    story = world.engine.story("default/p")
    assert story is not None
    assert (story.node, story.feasible) == ("c", 1)
    assert {(each.plugin, each.reason, each.nodes) for each in story.rejections} == {
        ("Extender", "out of order", 1),
        ("Extender", "node(s) were left out by an extender", 1),
        ("NodeResourcesFit", "Insufficient cpu", 1),
    }


def test_the_story_says_that_totals_are_without_what_extenders_added() -> None:
    world = stage(extender(filter_verb="", prioritize_verb="prioritize", weight=1))
    answer(world, park(world, pod("p")), [{"Host": "b", "Score": 10}])
    story = world.engine.story("default/p")
    assert story is not None
    assert (story.node, story.remarks) == ("b", ("totals are without what extenders added",))


# binding


def test_an_interested_extender_binds() -> None:
    binder = extender(filter_verb="", bind_verb="bind", managed=(GPU,))
    world = stage(binder, nodes=(node("a", extra={GPU: "8"}),))
    bind = world.try_pod(gpu_pod("wants"))
    assert isinstance(bind, Bind)
    assert bind.extender == 0
    other = world.try_pod(pod("other"))
    assert isinstance(other, Bind)
    assert other.extender is None
