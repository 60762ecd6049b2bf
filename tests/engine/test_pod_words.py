"""A pod that has no node says what it waits for, whatever holds it; and again only when that changes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from engine.stage import BUILT_IN, Stage, made, node, pod
from extenders.talk import URL, answer, extender, park
from extenders.talk import stage as with_extenders
from mooring.engine.decisions import Bind, Decision, Refuse, Wait
from mooring.engine.pod_words import AT_ONCE, LONGEST_PATIENCE_S, PATIENCE_S, PAUSE_S
from mooring.framework.api.status import passing, unresolvable, wait
from mooring.model.objects import Pod, PodCondition, PodSchedulingGate, PodStatus
from mooring.plugins.coscheduling import Coscheduling
from mooring.workloads import keys

SOON = PATIENCE_S


def waits(decisions: list[Decision] | None) -> list[tuple[str, str, str]]:
    found = [each for each in decisions or () if isinstance(each, Wait)]
    return [(each.pod.name, each.reason, each.message) for each in found]


def gate(*answers: Any, name: str = "Quota") -> type:
    """Holds every pod with each of these answers in turn, the last for good."""
    left = list(answers)
    return made(
        name,
        pre_enqueue=lambda self, pod: left.pop(0) if len(left) > 1 else left[0],
        events=lambda self: (),
    )


def permit(*reasons: str, name: str = "Approval") -> type:
    return made(
        name,
        permit=lambda self, cycle, pod, node_name: wait(60, *reasons),
        events=lambda self: (),
    )


def member(name: str, least: int = 3, **more: Any) -> Pod:
    notes = {keys.NAME: "train", keys.MIN_AVAILABLE: str(least)}
    return pod(name, annotations=notes, **more)


def gangs(*more: type) -> Stage:
    return Stage(Coscheduling, *more, base=BUILT_IN).nodes("n", "m")


def decided(stage: Stage) -> Stage:
    """Pods are decided: before, nobody would carry out what is told."""
    assert stage.cycle() is None
    return stage


def test_permit_in_the_words_of_the_policy() -> None:
    stage = Stage(permit("team-a has not approved it", "ask Jo")).nodes("n")
    stage.add(pod("p"))
    stage.cycle()
    words = (
        "has a place on node n and waits for permission: plugin Approval holds it: "
        "team-a has not approved it, ask Jo"
    )
    story = stage.engine.story("default/p")
    assert story is not None
    assert (story.node, story.message) == ("", words)
    assert stage.engine.wake_at() == SOON
    assert waits(stage.tick(SOON / 2)) == []
    assert waits(stage.tick(SOON)) == [("p", "WaitingAtPermit", words)]
    assert stage.tick(SOON + 1) == []


def test_permit_names_who_holds_it_still() -> None:
    stage = Stage(permit(name="One"), permit("because", name="Two")).nodes("n")
    stage.add(pod("p"))
    stage.cycle()
    stage.engine.waiting["p"].allow("One")
    assert [words for _, _, words in waits(stage.tick(SOON))] == [
        "has a place on node n and waits for permission: plugin Two holds it: because"
    ]


def test_who_is_let_go_soon_says_nothing() -> None:
    stage = Stage(permit()).nodes("n")
    stage.add(pod("p"))
    stage.cycle()
    stage.engine.waiting["p"].allow("Approval")
    assert [type(each) for each in stage.tick(SOON)] == [Bind]
    assert stage.tick(SOON * 2) == []


def test_a_pod_at_permit_says_so_although_it_fitted_nowhere_before() -> None:
    stage = Stage(permit("not yet"))
    assert stage.wait(pod("p")).reason == "Unschedulable"
    stage.nodes("n")
    stage.tick(10)
    stage.cycle()
    assert [reason for _, reason, _ in waits(stage.tick(10 + SOON))] == ["WaitingAtPermit"]


def test_scheduling_gates() -> None:
    stage = decided(Stage().nodes("n"))
    stage.add(pod("p", scheduling_gates=(PodSchedulingGate(name="a"), PodSchedulingGate(name="b"))))
    words = "waiting for scheduling gates: [a b]"
    assert waits(stage.tick(SOON)) == [("p", "SchedulingGated", words)]
    story = stage.engine.story("default/p")
    assert story is not None
    assert (story.node, story.message, story.remarks) == (
        "", words, ("told in short: no node was asked so far",)
    )  # fmt: skip


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (unresolvable("team-a has used up its quota"), "team-a has used up its quota"),
        (unresolvable(), "held back by plugin Quota, which gives no reason"),
        (passing("soon"), "soon"),
        (7, 'running pre_enqueue of plugin "Quota": returned 7, which is neither a Status nor None'),
    ],
    ids=["reason", "no reason", "passing", "nonsense"],
)
def test_a_gate_of_a_policy(held: Any, words: str) -> None:
    stage = decided(Stage(gate(held)).nodes("n"))
    stage.add(pod("p"))
    assert waits(stage.tick(SOON)) == [("p", "HeldBack", words)]
    story = stage.engine.story("default/p")
    assert story is not None
    assert story.message == words


def test_what_an_attempt_said_holds_while_a_gate_is_shut_for_a_moment() -> None:
    stage = Stage(gate(None, passing("soon"))).nodes(node("n", cpu="1"))
    said = stage.wait(pod("p", cpu="2"))
    stage.change(node("n", cpu="3"))
    assert stage.queued(pod("p")).gating_plugin == "Quota"
    assert waits(stage.tick(SOON)) == []
    words = stage.engine.waits_for("p")
    assert words is not None
    assert words.message == said.message


def test_who_stands_by_says_nothing_until_it_decides() -> None:
    stage = Stage(gate(unresolvable("no"))).nodes("n")
    stage.add(pod("p"))
    assert stage.engine.wake_at() is None
    assert stage.tick(10) == []
    decided(stage)
    assert stage.tick(10) == []
    assert waits(stage.tick(10 + SOON)) == [("p", "HeldBack", "no")]


def test_what_a_scheduler_before_it_said_holds_while_a_gate_is_shut_for_a_moment() -> None:
    stage = decided(Stage(gate(passing("soon"))).nodes("n"))
    said = PodCondition(type="PodScheduled", status="False", reason="Unschedulable", message="no room")
    stage.add(msgspec.structs.replace(pod("p"), status=PodStatus(conditions=(said,))))
    assert stage.tick(SOON) == []
    words = stage.engine.waits_for("p")
    assert words is not None
    assert words.message == "no room"


def test_very_many_are_told_bit_by_bit() -> None:
    stage = decided(Stage(gate(unresolvable("no"))).nodes("n"))
    stage.add(*(pod(f"p{i}") for i in range(AT_ONCE + 5)))
    first = stage.tick(SOON)
    assert len(first) == AT_ONCE
    assert [each.together for each in first if isinstance(each, Wait)] == [AT_ONCE] + [0] * (AT_ONCE - 1)
    assert stage.engine.wake_at() == SOON + PAUSE_S
    assert len(stage.tick(SOON + PAUSE_S)) == 5


# gangs


def test_a_gang_short_of_members() -> None:
    stage = decided(gangs())
    stage.add(member("w0"))
    words = "gang default/train: needs 3 pods; 1 is there, 2 are missing"
    assert waits(stage.tick(SOON)) == [("w0", "HeldBack", words)]
    story = stage.engine.story("default/w0")
    assert story is not None
    assert story.message == words


def test_as_members_come_in_it_is_told_more_and_more_rarely() -> None:
    stage = decided(gangs())
    told, size = 0, 200
    for number in range(size):
        stage.add(member(f"w{number}", size + 1))
        told += sum(wait.startswith("w") for wait, _, _ in waits(stage.tick(float(number + 1))))
        story = stage.engine.story("default/w0")
        assert story is not None
        assert f"{number + 1} {'is' if not number else 'are'} there" in story.message
    assert told < size * 10
    told = 0
    for second in range(int(LONGEST_PATIENCE_S * 3)):
        told += len(waits(stage.tick(size + second + 1.0)))
    assert told <= size * 2
    assert stage.tick(size + 10 * LONGEST_PATIENCE_S) == []


def test_a_gang_that_lost_a_member_says_so_although_it_was_tried() -> None:
    stage = gangs()
    pods = [member(f"w{i}", cpu="9") for i in range(3)]
    stage.add(*pods)
    stage.cycle()
    stage.delete(pods[0])
    words = "gang default/train: needs 3 pods; 2 are there, 1 is missing"
    assert waits(stage.tick(SOON)) == [("w1", "HeldBack", words), ("w2", "HeldBack", words)]


def test_all_members_say_what_the_gang_lacks_whoever_stands_for_it() -> None:
    stage = gangs()
    stage.add(*(member(f"w{i}", cpu="9") for i in range(3)))
    said = stage.cycle()
    assert {message for _, _, message in waits(said)} == {
        "gang default/train: 0 of 3 can be placed; 3 lack cpu"
    }
    assert [each.together for each in said or () if isinstance(each, Wait)] == [3, 0, 0]
    stage.change(node("n", cpu="5"))
    assert waits(stage.tick(SOON)) == []
    for name in ("w0", "w1", "w2"):
        words = stage.engine.waits_for(name)
        assert words is not None
        assert words.message.startswith("gang default/train: 0 of 3 can be placed")


def test_members_that_disagree_are_told_which_word_counts(caplog: pytest.LogCaptureFixture) -> None:
    stage = gangs()
    stage.add(member("w0", 2), member("w1", 5), member("w2", 2))
    decisions: list[Decision] = []
    while (more := stage.engine.schedule(stage.now)) is not None:
        decisions += more
    words = "ignored: min-available 5; gang default/train has 2, as default/w0 says"
    assert [(each.about.metadata.name, each.message) for each in decisions if isinstance(each, Refuse)] == [
        ("w1", words)
    ]
    assert sum(isinstance(each, Bind) for each in decisions) == 3
    assert [record.getMessage() for record in caplog.records] == [f"pod default/w1: {words}"]


# extenders


def test_an_extender_that_takes_its_time() -> None:
    world = with_extenders(extender(filter_verb="filter"))
    question = park(world, pod("p"))
    words = f"waits for extender {URL}, which is asked which nodes it leaves"
    story = world.engine.story("default/p")
    assert story is not None
    assert story.message == words
    assert waits(world.tick(SOON)) == [("p", "AskingExtender", words)]
    (failed,) = answer(world, question, {"Error": "out of order"})
    assert isinstance(failed, Wait)
    assert failed.message == f"extender {URL}: out of order"


# in line


def test_a_pod_in_line_says_so_when_it_was_there_before() -> None:
    stage = Stage().nodes("n")
    stage.add(pod("a"), pod("b"))
    assert stage.engine.words.in_line(1, 0.0) == []
    stage.add(pod("c"))
    assert waits(list(stage.engine.words.in_line(5, 0.5))) == [
        ("a", "InLine", "waits for its turn: it has not been tried yet"),
        ("b", "InLine", "waits for its turn: it has not been tried yet"),
    ]
    assert [each.pod.name for each in stage.engine.words.in_line(5, 1.0)] == ["c"]
    assert stage.engine.words.in_line(5, 1.5) == []


def test_while_nothing_is_decided_it_says_why() -> None:
    stage = Stage().nodes("n")
    stage.add(pod("a"))
    stage.engine.words.pause("nobody looks")
    story = stage.engine.story("default/a")
    assert story is not None
    assert story.message == "nobody looks"
    assert waits(list(stage.engine.words.in_line(5, 0.0))) == [("a", "SchedulerError", "nobody looks")]
    assert stage.engine.words.in_line(5, 0.5) == []


def test_a_pod_of_the_same_name_is_another() -> None:
    stage = Stage(gate(None, unresolvable("no"))).nodes("n")
    stage.place(first := pod("p"))
    stage.delete(first.on_node("n"))
    stage.add(pod("p", uid="other"))
    story = stage.engine.story("default/p")
    assert story is not None
    assert (story.node, story.message) == ("", "no")
