"""What gangs wish, in the words of Koordinator, KAI and Kubernetes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mooring.errors import ManifestError
from mooring.plugins.coscheduling.topology.rules import rules_for
from mooring.workloads.topology_wishes import (
    MUST,
    PREFER,
    Wish,
    wish_of_annotation,
    wish_of_kai,
    wish_of_kubernetes,
)
from plugins.coscheduling.topology.networks import BLOCK, LAYERS, NODE, SPINE, must, prefer, rules


def said(wish: Wish | None) -> list[tuple[str, str, int]]:
    assert wish is not None
    return [(rule.layer, rule.strategy, rule.multiple) for rule in wish.rules]


def test_the_annotation() -> None:
    text = """{"gatherStrategy": [
        {"layer": "SpineLayer", "strategy": "MustGather"},
        {"layer": "BlockLayer", "strategy": "PreferGather", "podCountMultiple": 8}]}"""
    wish = wish_of_annotation(text)
    assert said(wish) == [(SPINE, MUST, 1), (BLOCK, PREFER, 8)]
    assert not wish.topology
    assert not wish.label


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        ("{", "gang.scheduling.koordinator.sh/network-topology-spec: not JSON: Input data was truncated"),
        ("[]", "gatherStrategy: must be a list of rules"),
        ('{"gatherStrategy": {}}', "gatherStrategy: must be a list of rules"),
        ('{"gatherStrategy": [7]}', "gatherStrategy[0]: must be an object with layer and strategy"),
        (
            '{"gatherStrategy": [{"strategy": "MustGather"}]}',
            "gatherStrategy[0].layer: must name a topology layer",
        ),
        (
            '{"gatherStrategy": [{"layer": "a", "strategy": "MustGater"}]}',
            "gatherStrategy[0].strategy: must be MustGather or PreferGather, not 'MustGater'. "
            'Did you mean "MustGather"?',
        ),
        (
            '{"gatherStrategy": [{"layer": "a", "strategy": "MustGather", "podCountMultiple": "8"}]}',
            "gatherStrategy[0].podCountMultiple: must be a number of pods, not '8'",
        ),
        (
            '{"gatherStrategy": [{"layer": "a", "strategy": "MustGather", "podCountMultiple": -1}]}',
            "gatherStrategy[0].podCountMultiple: must be a number of pods, not -1",
        ),
    ],
)
def test_mistakes_name_their_field(text: str, mistake: str) -> None:
    with pytest.raises(ManifestError) as caught:
        wish_of_annotation(text)
    assert str(caught.value) == mistake


def test_the_deepest_layer_that_must_hold() -> None:
    assert rules(must(BLOCK), must(SPINE)).must == 2
    assert rules(must(SPINE), prefer(BLOCK)).must == 1
    assert rules(prefer(BLOCK)).must == 0


def test_a_layer_that_is_not_there_is_named_with_its_field() -> None:
    wish = wish_of_annotation('{"gatherStrategy": [{"layer": "Blocklayer", "strategy": "MustGather"}]}')
    with pytest.raises(ManifestError, match=r'gatherStrategy\[0\].layer: .*Did you mean "BlockLayer"'):
        rules_for(LAYERS, wish)


def test_multiples_of_a_layer_and_all_below() -> None:
    found = rules(prefer(NODE, 4), prefer(BLOCK, 6), prefer(NODE, 2))
    assert found.multiples == (1, 1, 6, 4)
    assert found.multiples_below == (12, 12, 12, 4)


def test_what_kai_pod_groups_ask_for() -> None:
    given = {"topology": "net", "requiredTopologyLevel": "zone", "preferredTopologyLevel": "rack"}
    wish = wish_of_kai(given)
    assert said(wish) == [("zone", MUST, 1), ("rack", PREFER, 1)]
    assert wish is not None
    assert wish.topology == "net"
    assert wish.rules[1].field == "spec.topologyConstraint.preferredTopologyLevel"
    assert wish_of_kai({"topology": ""}) is None
    with pytest.raises(ManifestError, match="spec.topologyConstraint: needs a requiredTopologyLevel"):
        wish_of_kai({"topology": "net"})


@pytest.mark.parametrize("nothing", [None, {}, {"topology": []}, {"topology": [{"key": ""}]}])
def test_kubernetes_pod_groups_without_a_topology(nothing: dict[str, Any] | None) -> None:
    assert wish_of_kubernetes(nothing) is None


def test_what_kubernetes_pod_groups_ask_for() -> None:
    wish = wish_of_kubernetes({"topology": [{"key": "rack"}]})
    assert said(wish) == [("rack", MUST, 1)]
    assert wish is not None
    assert wish.label == "rack"


@pytest.mark.parametrize("number", [2**31, 2**62, 10**30, -1, True, 1.5, "8"])
def test_a_multiple_that_is_no_number_of_pods(number: object) -> None:
    rule = {"layer": NODE, "strategy": MUST, "podCountMultiple": number}
    with pytest.raises(
        ManifestError, match=r"^gatherStrategy\[0\].podCountMultiple: must be a number of pods"
    ):
        wish_of_annotation(json.dumps({"gatherStrategy": [rule]}))


def test_multiples_of_many_layers_stay_numbers() -> None:
    """Primes whose product no machine's integer holds."""
    listed = [
        {"layer": layer, "strategy": PREFER, "podCountMultiple": prime}
        for layer, prime in zip((SPINE, BLOCK, NODE), (2147483647, 2147483629, 2147483587), strict=True)
    ]
    found = rules_for(LAYERS, wish_of_annotation(json.dumps({"gatherStrategy": listed})))
    assert max(found.multiples_below) == 2**31
    assert max(found.multiples) == 2147483647


@pytest.mark.parametrize(
    ("constraint", "mistake"),
    [
        ([1], "spec.topologyConstraint: must be an object, not [1]"),
        ([], "spec.topologyConstraint: must be an object, not []"),
        ({"topology": 7}, "spec.topologyConstraint.topology: must be a text, not 7"),
        (
            {"topology": "t", "requiredTopologyLevel": ["rack"]},
            "spec.topologyConstraint.requiredTopologyLevel: must be a text, not ['rack']",
        ),
    ],
)
def test_kai_constraints_of_another_shape(constraint: Any, mistake: str) -> None:
    with pytest.raises(ManifestError) as failure:
        wish_of_kai(constraint)
    assert str(failure.value) == mistake


@pytest.mark.parametrize(
    ("constraints", "mistake"),
    [
        ([1], "spec.schedulingConstraints: must be an object, not [1]"),
        ({"topology": 7}, "spec.schedulingConstraints.topology: must be a list, not 7"),
        ({"topology": ["rack"]}, "spec.schedulingConstraints.topology[0]: must be an object, not 'rack'"),
        ({"topology": [{"key": 7}]}, "spec.schedulingConstraints.topology[0].key: must be a text, not 7"),
    ],
)
def test_kubernetes_constraints_of_another_shape(constraints: Any, mistake: str) -> None:
    with pytest.raises(ManifestError) as failure:
        wish_of_kubernetes(constraints)
    assert str(failure.value) == mistake
