"""PodTopologySpread: which nodes would make the pods of a workload too uneven."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.plugins.topology.spread import PodTopologySpread
from mooring.testing import pod
from mooring.testing.builders import PodBuilder
from plugins.topology.stage import HOST, NEVER, NOT_NOW, PASS, ZONE, Stage, nodes, running, thing

FOO = {"foo": ""}
Z1, Z2 = {ZONE: "zone1"}, {ZONE: "zone2"}
SKEWED = "node(s) didn't match pod topology spread constraints"
NO_LABEL = "node(s) didn't match pod topology spread constraints (missing required label)"


def spreading(key: str, selector: Any = FOO, skew: int = 1, **fields: Any) -> Any:
    return lambda name: pod(name).label("foo").spread(key, selector, skew, **fields)


def answers(kept: bool, wanted: Any, *things: Any, **args: Any) -> list[str]:
    return Stage(PodTopologySpread, things, kept=kept, args=args).answers(wanted)


def four() -> Any:
    return nodes(a=Z1, b=Z1, x=Z2, y=Z2)


def test_D1_no_pods(kept: bool) -> None:
    assert answers(kept, spreading(ZONE), *four()) == [PASS] * 4


def test_D2_even_zones(kept: bool) -> None:
    pods = running({"a": 2, "b": 1, "x": 3}, foo="")
    assert answers(kept, spreading(ZONE), *four(), *pods) == [PASS] * 4


def test_D3_node_without_the_key(kept: bool) -> None:
    places = four()
    places[1].without_label(ZONE)
    pods = running({"a": 1, "b": 1, "x": 1, "y": 1}, foo="")
    stage = Stage(PodTopologySpread, [*places, *pods], kept=kept)
    assert stage.answers(spreading(ZONE)) == [PASS, NEVER, NOT_NOW, NOT_NOW]
    assert stage.reasons(spreading(ZONE)) == ["", NO_LABEL, SKEWED, SKEWED]


def test_D4_key_on_no_node(kept: bool) -> None:
    assert answers(kept, spreading("rack"), *four()) == [NEVER] * 4


COUNTS = {"a": 2, "b": 1, "x": 0, "y": 3}


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        pytest.param(spreading(HOST), [NOT_NOW, NOT_NOW, PASS, NOT_NOW], id="D5"),
        pytest.param(spreading(HOST, FOO, 2), [NOT_NOW, PASS, PASS, NOT_NOW], id="D6"),
        pytest.param(lambda name: pod(name).spread(HOST, FOO), [NOT_NOW, PASS, PASS, NOT_NOW], id="D7"),
    ],
)
def test_hosts(kept: bool, wanted: Any, expected: list[str]) -> None:
    assert answers(kept, wanted, *four(), *running(COUNTS, foo="")) == expected


def test_D8_pods_of_other_namespaces_do_not_count(kept: bool) -> None:
    pods = [*running({"a": 2}, namespace="other", foo=""), *running({"x": 1, "y": 1}, foo="")]
    assert answers(kept, spreading(ZONE), *four(), *pods) == [PASS, PASS, NOT_NOW, NOT_NOW]


def test_D9_terminating_pods_do_not_count(kept: bool) -> None:
    leaving = [each.terminating() for each in running({"a": 2}, foo="")]
    pods = [*leaving, *running({"x": 1}, foo="")]
    assert answers(kept, spreading(ZONE), *four(), *pods) == [PASS, PASS, NOT_NOW, NOT_NOW]


@pytest.mark.parametrize(
    ("least", "expected"),
    [
        pytest.param(4, [NOT_NOW, NOT_NOW, PASS], id="D10"),
        pytest.param(2, [PASS, PASS, PASS], id="D11"),
    ],
)
def test_fewer_hosts_than_wanted_count_as_an_empty_one(kept: bool, least: int, expected: list[str]) -> None:
    pods = running({"a": 2, "b": 2, "c": 1}, foo="")
    wanted = spreading(HOST, FOO, 2, minDomains=least)
    assert answers(kept, wanted, *nodes(a={}, b={}, c={}), *pods) == expected


def test_D12_fewer_zones_than_wanted_count_as_an_empty_one(kept: bool) -> None:
    pods = running({"a": 2, "x": 1}, foo="")
    found = answers(kept, spreading(ZONE, FOO, 2, minDomains=3), *four(), *pods)
    assert found == [NOT_NOW, NOT_NOW, PASS, PASS]


def test_D13_nodes_the_pod_may_not_go_to_are_left_out(kept: bool) -> None:
    places = four()
    for each in (places[0], places[3]):
        each.label("pool", "x")

    def wanted(name: str) -> PodBuilder:
        return pod(name).label("foo").selects("pool", "x").spread(HOST, FOO)

    assert answers(kept, wanted, *places, *running(COUNTS, foo="")) == [PASS, PASS, PASS, NOT_NOW]


@pytest.mark.parametrize(
    ("policy", "tolerates", "expected"),
    [
        pytest.param("Honor", False, [PASS, PASS, PASS], id="D14"),
        pytest.param("Honor", True, [NOT_NOW, NOT_NOW, PASS], id="tolerated"),
        pytest.param("Ignore", False, [NOT_NOW, NOT_NOW, PASS], id="ignored"),
    ],
)
def test_tainted_empty_node(kept: bool, policy: str, tolerates: bool, expected: list[str]) -> None:
    a, b, c = nodes(a={}, b={}, c={})
    c.taint("k")

    def wanted(name: str) -> PodBuilder:
        made = pod(name).label("foo").spread(HOST, FOO, nodeTaintsPolicy=policy)
        return made.tolerates("k") if tolerates else made

    assert answers(kept, wanted, a, b, c, *running({"a": 1, "b": 1}, foo="")) == expected


@pytest.mark.parametrize(
    ("selector", "expected"), [(None, PASS), ({}, PASS)], ids=["selects-nobody", "selects-all"]
)
def test_a_selector_without_labels_counts_nobody(kept: bool, selector: Any, expected: str) -> None:
    assert answers(kept, spreading(HOST, selector), *four(), *running(COUNTS, foo="")) == [expected] * 4


def test_nodes_take_part_only_with_all_keys(kept: bool) -> None:
    """`b` is empty and would be the minimum of its zone, but has no rack."""
    places = nodes(a=Z1 | {"rack": "1"}, b=Z2, c=Z1 | {"rack": "2"})

    def wanted(name: str) -> PodBuilder:
        return pod(name).label("foo").spread(ZONE, FOO).spread("rack", FOO, 2)

    assert answers(kept, wanted, *places, *running({"a": 1}, foo="")) == [PASS, NEVER, PASS]


def test_match_label_keys(kept: bool) -> None:
    def wanted(name: str) -> PodBuilder:
        return pod(name).label("foo").label("v", "2").spread(HOST, FOO, matchLabelKeys=["v"])

    pods = [*running({"a": 4}, foo="", v="1"), *running({"b": 1}, foo="", v="2")]
    assert answers(kept, wanted, *nodes(a={}, b={}), *pods) == [PASS, NOT_NOW]


def test_listed_defaults_reject_as_well(kept: bool) -> None:
    args = {
        "defaultingType": "List",
        "defaultConstraints": [{"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule"}],
    }
    service = thing("Service", "s", {"selector": FOO})
    found = answers(
        kept, lambda name: pod(name).label("foo"), service, *four(), *running(COUNTS, foo=""), **args
    )
    assert found == [NOT_NOW, NOT_NOW, PASS, NOT_NOW]


def test_labels_that_change_hands(kept: bool) -> None:
    """Two nodes swap their host names between two looks: each keeps its own pods."""
    a, b = nodes(a={}, b={})
    stage = Stage(PodTopologySpread, [a, b, *running({"a": 1, "b": 1}, foo="")], kept=kept)
    assert stage.answers(spreading(HOST)) == [PASS, PASS]
    for each, name in ((a, "b"), (b, "a")):
        stage.stage.change(each.label(HOST, name).build())
    assert stage.answers(spreading(HOST)) == [PASS, PASS]
