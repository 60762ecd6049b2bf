"""Extenders that have a say in who makes room for a pod: what they are asked, and what they may answer."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from engine.stage import Stage, made
from extenders.crowd import FULL, ask, crowded, left, low, outcome, preempting, preemptor
from extenders.talk import URL, answer, extender, sent
from mooring.config.scheduler import Extender
from mooring.engine.decisions import Consult, Wait
from mooring.framework.api.status import unschedulable
from mooring.model.objects import Object, ObjectMeta, Pod
from mooring.plugins.coscheduling import Coscheduling
from mooring.plugins.preemption import DefaultPreemption

GPU = "example.com/gpu"


# the question


def test_who_caches_nodes_is_told_uids() -> None:
    world = crowded(preempting())
    question = ask(world, wanted := preemptor())
    assert (question.verb, question.extender, question.pod) == ("preempt", 0, wanted)
    body = sent(question)
    assert body["Pod"]["metadata"]["uid"] == "p"
    assert body["NodeNameToVictims"] is None
    assert body["NodeNameToMetaVictims"] == {
        "a": {"Pods": [{"UID": "a1"}, {"UID": "a2"}, {"UID": "a3"}], "NumPDBViolations": 0},
        "b": {"Pods": [{"UID": "b1"}], "NumPDBViolations": 0},
    }
    assert world.where(wanted) == "in_flight"
    assert world.holds(low("b1", "4")) == "b"


def test_others_are_shown_pods_in_full() -> None:
    world = crowded(preempting(node_cache_capable=False))
    body = sent(ask(world, preemptor("3")))
    assert body["NodeNameToMetaVictims"] is None
    victims = body["NodeNameToVictims"]["b"]
    assert victims["NumPDBViolations"] == 0
    (shown,) = victims["Pods"]
    assert (shown["metadata"]["name"], shown["spec"]["nodeName"]) == ("b1", "b")
    assert set(body) == {"Pod", "NodeNameToVictims", "NodeNameToMetaVictims"}


def test_budgets_that_would_be_violated_are_counted() -> None:
    world = crowded(preempting())
    covered = low("covered", "4", labels={"app": "x"})
    world.nodes("c")
    world.running(covered, "c")
    world.plugin("DefaultPreemption").handle.lister("PodDisruptionBudget").put(
        Object(
            api_version="policy/v1",
            kind="PodDisruptionBudget",
            metadata=ObjectMeta(name="x", namespace="default"),
            data={
                "spec": {"selector": {"matchLabels": {"app": "x"}}},
                "status": {"disruptionsAllowed": 0},
            },
        )
    )
    victims = sent(ask(world, preemptor()))["NodeNameToMetaVictims"]
    assert {name: each["NumPDBViolations"] for name, each in victims.items()} == {"a": 0, "b": 0, "c": 1}
    assert list(victims)[-1] == "c"


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        pytest.param(preempting(managed=(GPU,)), preemptor(), id="not interested"),
        pytest.param(extender(filter_verb="", bind_verb="bind"), preemptor(), id="no verb"),
        pytest.param(preempting(), preemptor(preemption_policy="Never"), id="not eligible"),
        pytest.param(preempting(), preemptor("64"), id="nothing to offer"),
    ],
)
def test_nobody_is_asked_in_vain(asked: Extender, wanted: Pod) -> None:
    world = crowded(asked)
    world.add(wanted)
    decisions = world.cycle()
    assert decisions
    assert not any(isinstance(each, Consult) for each in decisions)
    assert isinstance(decisions[-1], Wait)


# the answer


def test_the_best_of_what_is_left_is_taken() -> None:
    world = crowded(preempting())
    question = ask(world, preemptor())
    named = sent(question)["NodeNameToMetaVictims"]
    assert outcome(answer(world, question, {"NodeNameToMetaVictims": named})) == ("b", ["b1"], FULL)
    assert world.engine.nominator.node_of("p") == "b"


def with_gang() -> Stage:
    """Besides, nodes c and d with a pod each of a gang that needs both."""
    world = crowded(preempting(), plugins=(Coscheduling,)).nodes("c", "d")
    notes = {"gang.scheduling.koordinator.sh/name": "g", "gang.scheduling.koordinator.sh/min-available": "2"}
    for name in "cd":
        world.running(low(f"{name}1", "4", annotations=notes), name)
    return world


def test_a_gang_goes_whole_whatever_is_left_of_an_offer() -> None:
    """Extenders are shown the pods of each node. Who goes with them follows, and counts in the choice."""
    world = with_gang()
    question = ask(world, preemptor())
    assert sent(question)["NodeNameToMetaVictims"]["c"] == {"Pods": [{"UID": "c1"}], "NumPDBViolations": 0}
    nominated, victims, _ = outcome(answer(world, question, left(c=["c1"])))
    assert (nominated, sorted(victims)) == ("c", ["c1", "d1"])
    world = with_gang()
    assert outcome(answer(world, ask(world, preemptor()), left(c=["c1"], b=["b1"])))[:2] == ("b", ["b1"])


def test_a_node_that_is_left_out_is_not_taken() -> None:
    world = crowded(preempting())
    said = left(a=["a1", "a2", "a3"])
    assert outcome(answer(world, ask(world, preemptor()), said)) == ("a", ["a1", "a2", "a3"], FULL)


def test_pods_that_are_left_out_stay() -> None:
    world = crowded(preempting())
    assert outcome(answer(world, ask(world, preemptor()), left(a=["a3"]))) == ("a", ["a3"], FULL)


def test_what_is_left_out_counts_in_the_choice() -> None:
    """Three victims of a for one of b: b is better, until the extender spares two of them."""
    world = crowded(preempting())
    said = left(a=["a3"], b=["b1"])
    said["NodeNameToMetaVictims"]["b"]["NumPDBViolations"] = 1
    assert outcome(answer(world, ask(world, preemptor()), said))[0] == "a"


def test_an_extender_may_name_another_pod_of_the_node() -> None:
    world = crowded(preempting())
    question = ask(world, preemptor("2"))
    assert sent(question)["NodeNameToMetaVictims"]["a"]["Pods"] == [{"UID": "a3"}]
    assert outcome(answer(world, question, left(a=["a2", "a1"])))[:2] == ("a", ["a1", "a2"])


@pytest.mark.parametrize(
    "text",
    [
        b'{"nodenametometavictims": {"b": {"pods": [{"uid": "b1"}], "numPDBViolations": null}}}',
        b'{"NodeNameToMetaVictims": {"b": {"Pods": [{"UID": "b1", "More": 1}]}}, "Error": "unknown key"}',
    ],
)
def test_keys_are_read_without_regard_to_case(text: bytes) -> None:
    world = crowded(preempting())
    question = ask(world, preemptor())
    assert outcome(answer(world, question, msgspec.Raw(text) and msgspec.json.decode(text)))[0] == "b"


def test_nothing_left() -> None:
    world = crowded(preempting())
    wanted = preemptor(nominated="a")
    found = outcome(answer(world, ask(world, wanted), {}))
    assert found == (None, [], f"{FULL} preemption: no candidate node for preemption")
    assert world.engine.nominator.node_of("p") == "a"  # as it was
    assert world.where(wanted) == "unschedulable"


# several


def test_each_is_asked_about_what_the_one_before_left() -> None:
    world = crowded(preempting(), preempting(node_cache_capable=False))
    (second,) = answer(world, ask(world, preemptor()), left(a=["a1", "a3"]))
    assert isinstance(second, Consult)
    assert second.extender == 1
    asked = sent(second)["NodeNameToVictims"]
    assert {name: [p["metadata"]["uid"] for p in v["Pods"]] for name, v in asked.items()} == {
        "a": ["a1", "a3"]
    }
    assert outcome(answer(world, second, left(a=["a3"]))) == ("a", ["a3"], FULL)


def test_ignorable_ones_come_last() -> None:
    world = crowded(preempting(ignorable=True), preempting())
    assert ask(world, preemptor()).extender == 1


def test_nobody_is_asked_about_nothing() -> None:
    world = crowded(preempting(), preempting())
    assert outcome(answer(world, ask(world, preemptor()), left()))[0] is None


def test_the_first_failure_ends_it() -> None:
    world = crowded(preempting(), preempting())
    found = outcome(answer(world, ask(world, preemptor()), error="away"))
    assert found == (None, [], f"{FULL} preemption: extender {URL}: away")


def test_after_one_that_may_fail_the_next_is_asked() -> None:
    world = crowded(preempting(ignorable=True), preempting(ignorable=True))
    question = ask(world, preemptor())
    (second,) = answer(world, question, error="away")
    assert isinstance(second, Consult)
    assert second.extender == 1
    assert sent(second) == sent(question)


# mistakes


@pytest.mark.parametrize(
    ("said", "ignored", "failure"),
    [
        pytest.param(
            left(a=[], b=["b1"]),
            "b",
            f'extender {URL}: expected at least one victim pod on node "a"',
            id="none",
        ),
        pytest.param(
            {"NodeNameToMetaVictims": {"a": None}},
            None,
            f'extender {URL}: expected at least one victim pod on node "a"',
            id="null",
        ),
        pytest.param(
            left(a=["a1", "b1"]),
            "b",
            f"extender: {URL} claims to preempt pod (UID: &{{b1}}) on node: a, "
            "but the pod is not found on that node",
            id="elsewhere",
        ),
        pytest.param(
            left(a=["nobody"]),
            "b",
            f"extender: {URL} claims to preempt pod (UID: &{{nobody}}) on node: a, "
            "but the pod is not found on that node",
            id="nobody",
        ),
        pytest.param(
            left(z=["a1"]), "b", f'extender {URL}: nodeinfo not found for node name "z"', id="no such node"
        ),
    ],
)
def test_mistakes(said: Any, ignored: str | None, failure: str) -> None:
    strict = crowded(preempting())
    found = outcome(answer(strict, ask(strict, preemptor()), said))
    assert found == (None, [], f"{FULL} preemption: {failure}")
    assert strict.holds(low("b1", "4")) == "b"
    lenient = crowded(preempting(ignorable=True))
    found = outcome(answer(lenient, ask(lenient, preemptor()), said))
    assert found[0] == ignored


@pytest.mark.parametrize(
    "text", [[], {"NodeNameToMetaVictims": {"a": {"Pods": 7}}}, {"NodeNameToMetaVictims": 7}]
)
def test_answers_that_cannot_be_read(text: Any) -> None:
    world = crowded(preempting())
    nominated, evicted, message = outcome(answer(world, ask(world, preemptor()), text))
    assert (nominated, evicted) == (None, [])
    assert message.startswith(f"{FULL} preemption: ")
    assert message != f"{FULL} preemption: no candidate node for preemption"


def test_a_failure_keeps_later_post_filters_from_being_asked() -> None:
    asked = []
    later = made("Later", post_filter=lambda self, cycle, pod, statuses: asked.append(1))
    world = crowded(preempting(), plugins=(later,))
    answer(world, ask(world, preemptor()), error="away")
    assert asked == []
    again = crowded(preempting(), plugins=(later,))
    answer(again, ask(again, preemptor()), left())
    assert asked == [1]


def test_what_was_said_before_is_said_again() -> None:
    said: list[str] = []

    def post_filter(self: Any, cycle: Any, pod: Pod, statuses: Any) -> Any:
        said.append(pod.name)
        return unschedulable("no new claims to deallocate")

    profile = (
        "profiles:\n- plugins:\n    postFilter:\n      enabled: [{name: First}, {name: DefaultPreemption}]\n"
        "      disabled: [{name: DefaultPreemption}]\n"
    )
    first = made("First", post_filter=post_filter)
    world = Stage(DefaultPreemption, first, text=profile, extenders=(preempting(),)).nodes("b")
    world.running(low("b1", "4"), "b")
    found = outcome(answer(world, ask(world, preemptor()), left()))
    assert found[2] == (
        "0/1 nodes are available: 1 Insufficient cpu. "
        "no new claims to deallocate, preemption: no candidate node for preemption"
    )
    assert said == ["p"]


# with filtering


def test_nodes_an_extender_rejected_for_good_are_no_candidates() -> None:
    """It filters, then it is asked who makes room: on nodes evicting may help on."""
    world = Stage(DefaultPreemption, extenders=(extender(preempt_verb="preempt"),)).nodes("a", "b", "c")
    world.running(low("a1", "4"), "a")
    world.running(low("b1", "1"), "b")
    world.running(low("c1", "4"), "c")
    world.add(preemptor("3"))
    (filtering,) = world.cycle() or ()
    assert sent(filtering)["NodeNames"] == ["b"]
    said = {"NodeNames": [], "FailedAndUnresolvableNodes": {"b": "no devices"}}
    (question,) = answer(world, filtering, said)
    assert isinstance(question, Consult)
    assert sorted(sent(question)["NodeNameToMetaVictims"]) == ["a", "c"]
    nominated, evicted, message = outcome(answer(world, question, left(a=["a1"])))
    assert (nominated, evicted) == ("a", ["a1"])
    assert message == "0/3 nodes are available: 1 no devices, 2 Insufficient cpu."


def protecting(*names: str) -> Any:
    return made("Protects", may_evict=lambda self, pod, victim: victim.name not in names)


@pytest.mark.parametrize(
    ("named", "goes"),
    [
        ({"a": ["a1", "a2", "a3"]}, (None, [])),
        ({"a": ["a1"]}, (None, [])),
        ({"a": ["a1", "a3"], "b": ["b1"]}, ("b", ["b1"])),
        ({"a": ["a2", "a3"]}, ("a", ["a3", "a2"])),
    ],
)
def test_pods_that_policies_protect_stay_whatever_extenders_answer(
    named: dict[str, list[str]], goes: tuple[str | None, list[str]]
) -> None:
    world = crowded(preempting(), plugins=(protecting("a1"),))
    question = ask(world, preemptor("3"))
    nominated, evicted, _ = outcome(answer(world, question, left(**named)))
    assert (nominated or None, sorted(evicted)) == (goes[0], sorted(goes[1]))
    world.engine.check()


def test_a_pod_that_is_protected_since_it_was_offered_stays() -> None:
    spared: list[str] = []
    policy = made("Protects", may_evict=lambda self, pod, victim: victim.name not in spared)
    world = crowded(preempting(), plugins=(policy,))
    question = ask(world, preemptor())
    spared.append("b1")
    assert outcome(answer(world, question, left(b=["b1"])))[:2] == (None, [])
