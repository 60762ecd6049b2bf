"""What cannot be read falls back, and the pods say so until it is right."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.workloads.gang import Standing
from mooring.workloads.written_values import Reading
from plugins.coscheduling.hand import GANG, Hand, changed, labelled, member, pod, pod_group

TWO = pod(
    "p",
    labels={"pod-group.scheduling.sigs.k8s.io": "a"},
    annotations={"pod-group-name": "b"},
)


WORDS = "none of once-satisfied, only-waiting, waiting-and-running"
ABC = 'invalid duration "abc"; write it like "15s" or "1m30s"'
LESS = f"less than annotation {GANG}min-available, which is 4"
NO_LIST = 'not a JSON list of gangs, such as ["default/a", "default/b"]'


@pytest.mark.parametrize(
    ("notes", "key", "value", "what"),
    [
        ({"least": "xxx"}, "min-available", "xxx", "not a whole number"),
        ({"least": "-1"}, "min-available", "-1", "not between 0 and 2147483647"),
        (
            {"least": 4, "total": 3},
            "total-number",
            "3",
            LESS,
        ),
        ({"total": "many"}, "total-number", "many", "not a whole number"),
        ({"mode": "Srict"}, "mode", "Srict", 'Did you mean "Strict"?'),
        ({"mode": "qqq"}, "mode", "qqq", "none of Strict, NonStrict"),
        ({"policy": "never"}, "match-policy", "never", WORDS),
        ({"waiting": "-20s"}, "waiting-time", "-20s", "less than nothing"),
        ({"waiting": "abc"}, "waiting-time", "abc", ABC),
        ({"groups": "[a,b]"}, "groups", "[a,b]", NO_LIST),
        ({"groups": '["x"]'}, "groups", '["x"]', "does not name the gang itself, default/g"),
    ],
)
def test_a_mistake_names_the_field_and_the_value(
    notes: dict[str, Any], key: str, value: str, what: str
) -> None:
    hand = Hand()
    first = member("p0", **notes)
    said = f'annotation {GANG}{key} is "{value}": {what}'
    hand.see(first, member("p1"))
    assert hand.gate(first) == said
    assert first.uid in hand.gang().crowds[Standing.ASIDE].members
    hand.gate(first)
    hand.follow_up()
    hand.gate(first)
    hand.follow_up()
    assert hand.reports == [("p0", said)]


@pytest.mark.parametrize("waiting", ["0", ""])
def test_no_waiting_time_is_no_mistake(waiting: str) -> None:
    hand = Hand()
    first = member("p0", least=1, waiting=waiting)
    hand.see(first)
    assert hand.gate(first) == ""


def test_two_gangs_are_one_too_many() -> None:
    hand = Hand()
    hand.see(TWO)
    label, note = 'label pod-group.scheduling.sigs.k8s.io "a"', 'annotation pod-group-name "b"'
    assert hand.gate(TWO) == f"the pod names two gangs: {label} and {note}"
    same = pod("q", labels={"pod-group.scheduling.sigs.k8s.io": "a"}, annotations={GANG + "name": "a"})
    other = pod("r", labels={"pod-group.scheduling.sigs.k8s.io": "a"}, annotations={GANG + "name": "c"})
    hand.put(pod_group("a", minMember=1))
    hand.see(same, other)
    assert hand.gate(same) == ""
    assert "two gangs" in hand.gate(other)


def test_a_mistaken_pod_does_not_count() -> None:
    hand = Hand()
    pods = [member("p0"), member("p1", mode="foo")]
    hand.see(*pods)
    assert hand.gate(pods[0]) == "gang default/g: needs 2 pods; 1 is there, 1 is missing"


def test_a_pod_that_was_believed_keeps_all_waiting_until_a_better_one_comes() -> None:
    hand = Hand()
    wrong, right = member("p0", mode="foo"), member("p1")
    hand.see(wrong)
    assert hand.gang().terms.mistakes
    hand.see(right, member("p2"))
    assert hand.gang().terms.mistakes == ()
    assert hand.gate(right) == ""


def test_a_mistake_is_over_when_it_is_corrected() -> None:
    hand = Hand()
    wrong = member("p0", least=1, mode="foo")
    hand.see(wrong)
    assert hand.gate(wrong) != ""
    right = changed(wrong, annotations=wrong.annotations | {GANG + "mode": "Strict"})
    hand.see(right)
    assert hand.activated == ["p0"]
    assert hand.gate(right) == ""


def test_a_mistake_in_a_pod_group_keeps_all_its_pods() -> None:
    hand = Hand()
    pods = [labelled("p0"), labelled("p1")]
    hand.see(*pods)
    hand.put(pod_group(minMember=2, annotations={GANG + "match-policy": "x"}))
    said = (
        f'PodGroup default/g annotation {GANG}match-policy is "x": none of once-satisfied, only-waiting, '
        "waiting-and-running"
    )
    assert [hand.gate(each) for each in pods] == [said, said]
    hand.follow_up()
    assert hand.reports == [("p0", said), ("p1", said)]
    hand.put(pod_group(minMember=2))
    assert hand.activated[-1:] == ["p0"]
    assert hand.gate(pods[0]) == ""


def test_nothing_is_told_before_pods_are_decided() -> None:
    hand = Hand()
    hand.see(TWO)
    hand.gate(TWO)
    assert hand.reports == []
    hand.gone(TWO)
    hand.follow_up()
    assert hand.reports == []


def test_numbers_may_be_numbers_or_text() -> None:
    reading = Reading()
    assert [reading.count("f", each) for each in (3, "3", "+3", None, "", True, 1.5)] == [
        3, 3, 3, None, None, None, None,
    ]  # fmt: skip
    assert reading.mistakes == ['f is "true": not a whole number', 'f is "1.5": not a whole number']


def test_annotations_as_long_and_as_deep_as_the_server_takes() -> None:
    """A tenant writes what they like into an annotation; it costs a mistake, short enough to be shown."""
    reading = Reading()
    assert reading.count("f", "9" * 200_000) is None
    assert reading.groups("f", "[" * 200_000, "default/a") == ()
    assert reading.json("f", "[" * 200_000) == ""
    assert reading.wait("f", "1" * 200_000 + "s") == 0
    assert len(reading.mistakes) == 4
    assert max(map(len, reading.mistakes)) < 500
