"""Who waits though there is a place is told; who waits for good reason is not."""

from __future__ import annotations

from chaos.settled import waiting_though_they_fit
from chaos.story import Story
from e2e.gangs import members
from e2e.nodes import node
from e2e.workloads import pod


def said(story: Story) -> list[str]:
    ledger = story.ledger
    return list(waiting_though_they_fit(ledger.nodes.values(), ledger.pods.values(), ledger.gangs))


def test_a_pod_that_fits_is_told() -> None:
    story = Story(node("one", cpu=2), node("two", cpu=1))
    story.pod(pod("a", cpu="1500m"))
    assert said(story) == ["chaos/a waits and fits on one"]


def test_a_pod_that_fits_nowhere_waits_rightly() -> None:
    story = Story(node("one", cpu=1), node("tainted", cpu=4, taints=["a=b:NoSchedule"]))
    story.pod(pod("a", cpu="1500m"))
    assert said(story) == []


def test_a_pod_that_is_going_need_not_be_placed() -> None:
    story = Story(node("one", cpu=2))
    story.pod(pod("a"))
    story.deleting("a")
    assert said(story) == []


def test_room_of_a_pod_that_is_done_counts_as_free() -> None:
    story = Story(node("one", cpu=1))
    story.pod(pod("a", cpu="1"), "one")
    story.pod(pod("b", cpu="1"))
    assert said(story) == []
    story.phase("a", "Succeeded")
    assert said(story) == ["chaos/b waits and fits on one"]


def test_room_that_is_promised_to_a_more_important_pod_is_not_free() -> None:
    story = Story(node("one", cpu=1))
    story.pod(pod("important", cpu="1", priority=10))
    story.nominate("important", "one")
    story.pod(pod("a", cpu="1"))
    assert said(story) == ["chaos/important waits and fits on one"]


def test_a_pod_for_which_others_should_have_gone_is_told() -> None:
    story = Story(node("one", cpu=1))
    story.pod(pod("a", cpu="1"), "one")
    story.pod(pod("important", cpu="1", priority=10))
    assert said(story) == ["chaos/important waits and fits on one without chaos/a"]


def test_a_gang_that_fits_as_a_whole_is_told_and_one_that_fits_in_parts_is_not() -> None:
    story = Story(node("one", cpu=2))
    for each in members("annotations", "train", range(3), 3):
        story.pod(each)
    assert said(story) == []
    story.node(node("two", cpu=1))
    assert said(story) == ["gang train waits, and 3 of it fit where 3 are needed"]


def test_a_gang_whose_pods_are_not_all_there_waits_rightly() -> None:
    story = Story(node("one", cpu=8))
    for each in members("annotations", "train", range(2), 3):
        story.pod(each)
    assert said(story) == []


def test_the_rest_of_a_gang_in_parts_is_told_when_it_fits() -> None:
    story = Story(node("one", cpu=3))
    for each in members("annotations", "train", range(3), 3):
        story.pod(each)
    story.bind("train-0", "one")
    assert said(story) == ["gang train waits, and 2 of it fit where 2 are needed"]


def test_a_late_member_of_a_gang_that_has_started_counts_for_itself() -> None:
    story = Story(node("one", cpu=3))
    for each in members("annotations", "train", range(3), 2):
        story.pod(each)
    story.bind("train-0", "one")
    story.bind("train-1", "one")
    assert said(story) == ["gang train waits, and 1 of it fit where 1 are needed"]
