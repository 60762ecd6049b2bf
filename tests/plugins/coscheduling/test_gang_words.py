"""What is said of gangs: what is wanted, what there is, what is missing, and whose word counts."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.plugins.coscheduling.topology.layers import CLUSTER_LAYER, NODE_LAYER, domain_word
from plugins.coscheduling.hand import Hand, member, pod_group


@pytest.mark.parametrize(
    ("first", "second", "ignored"),
    [
        ({"least": 2}, {"least": 2}, ""),
        ({"least": 2}, {"least": 3}, "ignored: min-available 3; gang default/g has 2, as default/a says"),
        (
            {"least": 2, "mode": "Strict"},
            {"least": 2, "mode": "NonStrict"},
            "ignored: mode NonStrict; gang default/g has Strict, as default/a says",
        ),
        (
            {"least": 2, "waiting": "10s"},
            {"least": 3, "policy": "only-waiting"},
            "ignored: min-available 3, match-policy only-waiting, waiting-time none; "
            "gang default/g has 2, none, 10s, as default/a says",
        ),
        (
            {"least": 2, "total": 4},
            {"least": 2},
            "ignored: total-number 2; gang default/g has 4, as default/a says",
        ),
    ],
    ids=["agree", "minimum", "mode", "several", "total"],
)
def test_members_that_disagree(first: dict[str, Any], second: dict[str, Any], ignored: str) -> None:
    hand = Hand()
    pods = [member("a", **first), member("b", **second)]
    hand.see(*pods)
    for _ in range(2):
        for each in pods:
            hand.gate(each)
        hand.follow_up()
    assert hand.warnings == ([("b", ignored)] if ignored else [])


def test_a_pod_group_counts_more_than_what_pods_say() -> None:
    hand = Hand()
    hand.put(pod_group(minMember=2))
    one = member("a", least=5)
    hand.see(one)
    hand.gate(one)
    hand.follow_up()
    assert hand.warnings == [("a", "ignored: min-available 5; gang default/g has 2, as its PodGroup says")]


def test_gangs_that_start_together_say_what_each_lacks() -> None:
    hand = Hand()
    groups = '["default/a","default/b"]'
    first, other = member("p", "a", least=2, groups=groups), member("q", "b", least=1, groups=groups)
    hand.see(first, other)
    said = "gang group default/a,default/b: gang default/a needs 2 pods; 1 is there, 1 is missing"
    assert hand.gate(other) == said


@pytest.mark.parametrize(
    ("layer", "word"),
    [
        (NODE_LAYER, "node"),
        (CLUSTER_LAYER, "cluster"),
        ("RackLayer", "rack"),
        ("SuperPodLayer", "SuperPod"),
        ("rack", "rack"),
        ("topology.example.com/rack", "rack"),
        ("Layer", "layer"),
    ],
)
def test_what_a_domain_is_called(layer: str, word: str) -> None:
    assert domain_word(layer) == word
