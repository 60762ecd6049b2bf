"""PodTopologySpread: what nodes are worth."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.plugins.topology.spread import PodTopologySpread
from mooring.testing import pod
from mooring.testing.builders import NodeBuilder, PodBuilder
from plugins.topology.stage import HOST, ZONE, Stage, nodes, running, thing

FOO, BAR = {"foo": ""}, {"bar": ""}
Z1, Z2 = {ZONE: "zone1"}, {ZONE: "zone2"}


def spreading(*constraints: tuple[Any, ...], **labels: str) -> Any:
    """A maker of pods with soft constraints: (key, selector, skew) each."""

    def make(name: str) -> PodBuilder:
        made = pod(name).label("foo")
        for key, value in labels.items():
            made.label(key, value)
        for constraint in constraints:
            made.spread(*constraint, soft=True)
        return made

    return make


def scores(kept: bool, wanted: Any, *things: Any, **args: Any) -> list[int]:
    return list(Stage(PodTopologySpread, things, kept=kept, args=args).scores(wanted).values())


def plain(count: int) -> list[NodeBuilder]:
    return nodes(**{f"n{number}": {} for number in range(count)})


def on_each(*counts: int, **labels: str) -> list[PodBuilder]:
    given = {f"n{number}": count for number, count in enumerate(counts)}
    return running(given, **(labels or {"foo": ""}))


@pytest.mark.parametrize(
    ("skew", "counts", "expected"),
    [
        pytest.param(1, (2, 1, 0, 3), [20, 60, 100, 0], id="S1"),
        pytest.param(2, (2, 1, 0, 3), [33, 66, 100, 16], id="S2"),
        pytest.param(3, (4, 3, 2, 1), [44, 66, 77, 100], id="S3"),
        pytest.param(1, (0, 0), [100, 100], id="S14"),
    ],
)
def test_hosts(kept: bool, skew: int, counts: tuple[int, ...], expected: list[int]) -> None:
    wanted = spreading((HOST, FOO, skew))
    assert scores(kept, wanted, *plain(len(counts)), *on_each(*counts)) == expected


def test_S4_only_feasible_nodes_count_as_domains(kept: bool) -> None:
    *three, last = plain(4)
    found = scores(kept, spreading((HOST, FOO)), *three, last.cordoned(), *on_each(4, 2, 1, 3))
    assert found == [33, 83, 100]


def test_S5_node_without_the_key_gets_nothing(kept: bool) -> None:
    first, middle, last = plain(3)
    things = (first, middle.without_label(HOST), last, *on_each(4, 0, 1))
    assert scores(kept, spreading((HOST, FOO)), *things) == [16, 0, 100]


def test_S6_zones(kept: bool) -> None:
    places = nodes(a1=Z1, a2=Z1, b=Z2)
    pods = running({"a1": 4, "a2": 2, "b": 4}, foo="")
    assert scores(kept, spreading((ZONE, FOO)), *places, *pods) == [75, 75, 100]


def test_S7_zones_and_hosts(kept: bool) -> None:
    a, b, a2, b2 = nodes(a=Z1, b=Z2, a2=Z1, b2=Z2)
    pods = running({"a": 2, "a2": 1, "b": 2, "b2": 4}, foo="")
    wanted = spreading((ZONE, FOO), (HOST, FOO))
    assert scores(kept, wanted, a, b, a2.cordoned(), b2.cordoned(), *pods) == [100, 63]


def test_S8_two_selectors_over_zones(kept: bool) -> None:
    pods = [*running({"a": 3, "b": 3}, foo=""), *running({"a": 2, "b": 1}, bar="")]
    assert scores(kept, spreading((ZONE, FOO), (ZONE, BAR)), *nodes(a=Z1, b=Z2), *pods) == [85, 100]


@pytest.mark.parametrize(
    ("zones", "hosts", "feasible", "expected"),
    [
        pytest.param((2, 0, 1, 0), (0, 1, 0, 1), 4, [60, 20, 100, 60], id="S9"),
        pytest.param((0, 0, 2, 0), (0, 1, 0, 1), 4, [100, 60, 40, 0], id="S10"),
        pytest.param((2, 0, 1, 0), (0, 1, 0, 0), 3, [50, 25, 100], id="S11"),
    ],
)
def test_zones_and_hosts_by_different_selectors(
    kept: bool, zones: tuple[int, ...], hosts: tuple[int, ...], feasible: int, expected: list[int]
) -> None:
    places = nodes(n0=Z1, n1=Z1, n2=Z2, n3=Z2)
    for left_out in places[feasible:]:
        left_out.cordoned()
    pods = [*on_each(*zones, foo=""), *on_each(*hosts, bar="")]
    assert scores(kept, spreading((ZONE, FOO), (HOST, BAR)), *places, *pods) == expected


def test_S12_pods_of_other_namespaces_do_not_count(kept: bool) -> None:
    others = running({"n0": 5}, namespace="other", foo="")
    assert scores(kept, spreading((HOST, FOO)), *plain(2), *on_each(1, 2), *others) == [100, 33]


def test_S13_terminating_pods_do_not_count(kept: bool) -> None:
    leaving = [each.terminating() for each in running({"n0": 3}, foo="")]
    assert scores(kept, spreading((HOST, FOO)), *plain(2), *on_each(0, 1), *leaving) == [100, 0]


@pytest.mark.parametrize("selector", [None, {}], ids=["absent", "empty"])
def test_S14_a_selector_without_labels_counts_nobody(kept: bool, selector: Any) -> None:
    assert scores(kept, spreading((HOST, selector)), *plain(2), *on_each(1, 2)) == [100, 100]


def test_S15_nothing_to_spread(kept: bool) -> None:
    stage = Stage(PodTopologySpread, [*plain(2), *on_each(1, 2)], kept=kept)
    assert not stage.concerned(spreading())
    assert stage.scores(spreading()) == {"n0": 0, "n1": 0}


# defaults

SERVICE = thing("Service", "s", {"selector": FOO})
SET = {"selector": {"matchLabels": FOO}}


@pytest.mark.parametrize(
    ("owner", "kind"),
    [
        pytest.param(SERVICE, "", id="service"),
        pytest.param(thing("ReplicaSet", "o", SET), "ReplicaSet", id="replica-set"),
        pytest.param(thing("StatefulSet", "o", SET), "StatefulSet", id="stateful-set"),
        pytest.param(
            thing("ReplicationController", "o", {"selector": FOO}), "ReplicationController", id="controller"
        ),
    ],
)
def test_system_defaults(kept: bool, owner: Any, kind: str) -> None:
    """Hosts with a skew of 3 and zones with one of 5; a node without a zone is not ignored."""

    def wanted(name: str) -> PodBuilder:
        made = pod(name).label("foo")
        return made.owned_by(kind, "o") if kind else made

    places = nodes(a=Z1, b=Z2, c={})
    # Hosts: ln 5 = 1.61 each. Zones: two, and one for those without: also ln 5. 2+4 are the skews.
    # a: 3.2 + 3.2 + 6 = 12, b: 1.6 + 1.6 + 6 = 9, c: 0 + 2 = 2.
    assert scores(kept, wanted, owner, *places, *running({"a": 2, "b": 1}, foo="")) == [16, 41, 100]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(thing("Service", "s", {"selector": BAR}), id="selects-others"),
        pytest.param(thing("Service", "s", {"selector": FOO}, namespace="other"), id="other-namespace"),
        pytest.param(thing("Service", "s", {"selector": {}}), id="selects-nothing"),
        pytest.param(thing("ReplicaSet", "o", SET), id="does-not-own-it"),
    ],
)
def test_defaults_are_for_pods_that_are_selected(kept: bool, other: Any) -> None:
    assert not Stage(PodTopologySpread, [other, *plain(1)], kept=kept).concerned(spreading())


def test_services_and_owner_are_taken_together(kept: bool) -> None:
    things = [SERVICE, thing("ReplicaSet", "o", {"selector": {"matchLabels": BAR}})]

    def wanted(name: str) -> PodBuilder:
        return pod(name).label("foo").label("bar").owned_by("ReplicaSet", "o")

    pods = [*on_each(3, 0, foo=""), *running({"n1": 1}, foo="", bar="")]
    assert scores(kept, wanted, *things, *plain(2), *pods) == [100, 66]


def test_what_service_and_owner_select_may_exclude_each_other(kept: bool) -> None:
    things = [
        thing("Service", "s", {"selector": {"app": "new"}}),
        thing("ReplicaSet", "o", {"selector": {"matchLabels": {"app": "old"}}}),
    ]

    def wanted(name: str) -> PodBuilder:
        return pod(name).label("app", "new").owned_by("ReplicaSet", "o")

    assert scores(kept, wanted, *things, *plain(2), *on_each(3, 0, app="old")) == [100, 100]


def test_a_service_that_comes_later_counts(kept: bool) -> None:
    stage = Stage(PodTopologySpread, [*plain(2), *on_each(3, 0)], kept=kept)
    assert stage.scores(spreading()) == {"n0": 0, "n1": 0}
    stage.engine.placer.forget()
    stage.add(SERVICE)
    assert stage.scores(spreading()) == {"n0": 33, "n1": 100}


def test_a_pod_that_was_looked_at_is_looked_at_again_when_a_service_comes() -> None:
    stage = Stage(PodTopologySpread, plain(2), kept=True)
    waiting = spreading()("p").build()
    assert stage.plugin.sign(waiting) is None
    stage.add(SERVICE)
    assert stage.plugin.sign(waiting) is not None


def test_listed_defaults(kept: bool) -> None:
    """Unlike the system's, they leave out nodes that lack a key."""
    args = {
        "defaultingType": "List",
        "defaultConstraints": [
            {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway"},
        ],
    }
    places = nodes(a=Z1, b=Z2, c={})
    found = scores(kept, spreading(), SERVICE, *places, *running({"a": 2, "b": 1}, foo=""), **args)
    assert found == [33, 100, 0]


# other fields


def test_match_label_keys_count_pods_of_the_same_value(kept: bool) -> None:
    def wanted(name: str) -> PodBuilder:
        made = pod(name).label("foo").label("version", "2")
        return made.spread(HOST, FOO, soft=True, matchLabelKeys=["version", "absent"])

    pods = [*on_each(3, 0, foo="", version="1"), *on_each(0, 1, foo="", version="2")]
    assert scores(kept, wanted, *plain(2), *pods) == [100, 0]


@pytest.mark.parametrize(("policy", "expected"), [("Honor", [100, 100]), ("Ignore", [33, 100])])
def test_zones_count_nodes_the_pod_may_go_to(kept: bool, policy: str, expected: list[int]) -> None:
    """Pods on a node of another pool count for its zone only when affinity is ignored."""
    places = nodes(a=Z1 | {"pool": "x"}, b=Z2 | {"pool": "x"}, c=Z1)
    places[2].cordoned()

    def wanted(name: str) -> PodBuilder:
        return pod(name).selects("pool", "x").spread(ZONE, FOO, soft=True, nodeAffinityPolicy=policy)

    pods = running({"a": 1, "b": 1, "c": 1}, foo="")
    assert scores(kept, wanted, *places, *pods) == expected


@pytest.mark.parametrize(("policy", "expected"), [("Honor", [100, 100]), ("Ignore", [33, 100])])
def test_zones_count_nodes_whose_taints_are_tolerated(kept: bool, policy: str, expected: list[int]) -> None:
    a, b, c = nodes(a=Z1, b=Z2, c=Z1)
    c.taint("k").cordoned()

    def wanted(name: str) -> PodBuilder:
        return pod(name).spread(ZONE, FOO, soft=True, nodeTaintsPolicy=policy)

    pods = running({"a": 1, "b": 1, "c": 1}, foo="")
    assert scores(kept, wanted, a, b, c, *pods) == expected


def test_host_names_that_nodes_share(kept: bool) -> None:
    """Hosts are counted by node, whatever their labels say."""
    places = nodes(n0={HOST: "same"}, n1={HOST: "same"}, n2={})
    assert scores(kept, spreading((HOST, FOO)), *places, *on_each(2, 1, 0)) == [0, 33, 100]


def test_other_keys_that_no_two_nodes_share(kept: bool) -> None:
    places = nodes(n0={"rack": "r0"}, n1={"rack": "r1"}, n2={"rack": "r2"})
    assert scores(kept, spreading(("rack", FOO)), *places, *on_each(2, 1, 0)) == [0, 33, 100]
