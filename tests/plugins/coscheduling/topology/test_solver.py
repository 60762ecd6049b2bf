"""The solver by example: the tightest domain, multiples, members that are there already, and the words."""

from __future__ import annotations

import pytest

from mooring.plugins.coscheduling.topology.spaces import Request, Spaces
from mooring.workloads.topology_wishes import GatherRule
from plugins.coscheduling.topology.networks import (
    BLOCK,
    NODE,
    SPINE,
    T1_NODES,
    labels,
    must,
    prefer,
    rules,
    solved,
    spread,
    tree,
    unsolved,
)

ONE_EACH = dict.fromkeys(T1_NODES, 1)
TWO_EACH = dict.fromkeys(T1_NODES, 2)
NT6 = {"s1": {"b1": ("n1", "n2"), "b2": ("n3", "n4")}}
NT6_OFFERS = {"n1": 5, "n2": 7, "n3": 6, "n4": 4}


def test_nt1_a_gang_of_four_fills_a_spine() -> None:
    wish = rules(prefer(SPINE), prefer(BLOCK), prefer(NODE))
    found = solved(tree(), Request(4, ONE_EACH, wish))
    assert list(found) == ["node-1", "node-8", "node-2", "node-7"]


def test_nt2_the_deepest_layer_it_must_gather_in_holds() -> None:
    found = solved(tree(), Request(2, ONE_EACH, rules(must(BLOCK), must(SPINE))))
    assert list(found) == ["node-1", "node-8"]
    assert unsolved(tree(), Request(3, ONE_EACH, rules(must(BLOCK), must(SPINE)))).layer == BLOCK


def test_nt3_one_node_is_tightest_of_all() -> None:
    assert solved(tree(), Request(2, TWO_EACH, rules())) == {"node-1": 2}


def test_nt4_what_no_domain_takes_is_said_with_where_it_is_closest() -> None:
    offers = {name: 1 for name in T1_NODES if name not in ("node-1", "node-4")}
    found = unsolved(tree(), Request(4, offers, rules(must(SPINE))))
    assert found.message("why") == "needs 4 slots in one spine; the best spine, s1, has 3; why"


def test_nt5_with_the_others_gone_a_spine_is_filled_and_the_cheapest_at_that() -> None:
    wish = rules(must(SPINE))
    found = solved(tree(), Request(4, ONE_EACH, wish, costs={"node-1": 0, "node-4": 0}))
    assert list(found) == ["node-1", "node-8", "node-2", "node-7"]
    dear = Request(4, ONE_EACH, wish, costs={"node-1": 2, "node-4": 1})
    assert list(solved(tree(), dear)) == ["node-3", "node-6", "node-5", "node-4"]


def test_nt6_the_roomiest_are_filled_first() -> None:
    assert spread(tree(NT6), Request(15, NT6_OFFERS, rules())) == {"n2": 7, "n1": 5, "n3": 3}


@pytest.mark.parametrize(
    ("wish", "expected"),
    [
        pytest.param((prefer(NODE, 4),), {"n1": 4, "n2": 4, "n3": 4, "n4": 4}, id="nt7"),
        pytest.param((prefer(BLOCK, 8),), {"n2": 7, "n1": 1, "n3": 6, "n4": 2}, id="nt8"),
        pytest.param((prefer(NODE, 2), prefer(BLOCK, 8)), {"n2": 6, "n1": 2, "n3": 6, "n4": 2}, id="nt9"),
    ],
)
def test_multiples_of_pods(wish: tuple[GatherRule, ...], expected: dict[str, int]) -> None:
    request = Request(20, NT6_OFFERS, rules(*wish))
    assert spread(tree(NT6), request) == expected
    unsolved(tree(NT6), request)
    assert sum(solved(tree(NT6), Request(16, NT6_OFFERS, rules(*wish))).values()) == 16


@pytest.mark.parametrize(
    ("wish", "nodes"),
    [
        ((prefer(NODE, 4),), [4, 4, 4, 4]),
        ((prefer(BLOCK, 8),), [5, 7, 6, 4]),
        ((prefer(NODE, 2), prefer(BLOCK, 8)), [4, 6, 6, 4]),
    ],
)
def test_nt10_offers_are_what_multiples_leave(wish: tuple[GatherRule, ...], nodes: list[int]) -> None:
    offers = Spaces(tree(NT6), Request(20, NT6_OFFERS, rules(*wish))).offers
    assert [each.tolist() for each in offers] == [[16], [16], [8, 8], nodes]


def test_nt11_a_rest_that_is_no_multiple_is_not_placed() -> None:
    network = tree({"s1": {"b1": ("n1", "n2")}})
    request = Request(10, {"n1": 5, "n2": 5}, rules(prefer(NODE, 4)))
    assert spread(network, request) == {"n1": 4, "n2": 4}
    message = unsolved(network, request).message("why")
    assert message == "needs 10 slots in the cluster; it has 8; in multiples of 4 to a node; why"


def test_multiples_that_do_not_divide_each_other_hold_together() -> None:
    """A block of multiples of 4, on nodes of multiples of 3: only twelves will do."""
    network = tree({"s1": {"b1": ("n1", "n2"), "b2": ("n3", "n4", "n5", "n6")}})
    offers = dict.fromkeys(("n1", "n2", "n3", "n4", "n5", "n6"), 3)
    wish = rules(prefer(NODE, 3), prefer(BLOCK, 4))
    assert set(solved(network, Request(12, offers, wish))) == {"n3", "n4", "n5", "n6"}
    unsolved(network, Request(6, offers, wish))


def test_a_multiple_of_a_layer_above_holds_for_a_single_node() -> None:
    """All ten fit on one node, and then the block would have ten."""
    network = tree({"s1": {"b1": ("n1", "n2")}})
    wish = rules(prefer(BLOCK, 8))
    unsolved(network, Request(10, {"n1": 12, "n2": 12}, wish))
    assert solved(network, Request(8, {"n1": 12, "n2": 12}, wish)) == {"n1": 8}


def test_the_tightest_domain_is_taken_then_the_tightest_around_it() -> None:
    network = tree({"s1": {"b1": "ab", "b2": "cd"}, "s2": {"b3": "ef", "b4": "gh"}})
    offers = {"a": 2, "b": 2, "c": 2, "d": 1, "e": 2, "f": 1, "g": 1, "h": 1}
    assert solved(network, Request(3, offers, rules())) == {"e": 2, "f": 1}  # b2 is as tight, s1 is not


def test_pods_it_is_drawn_to_come_before_tightness() -> None:
    offers = TWO_EACH | {"node-6": 3}
    found = solved(tree(), Request(2, offers, rules(), existing={"node-3": 1}))
    assert found == {"node-3": 2}
    elsewhere = solved(tree(), Request(3, offers, rules(must(BLOCK)), existing={"node-4": 5}))
    assert elsewhere == {"node-6": 3}  # only as far as it fits at the lowest layer


def test_pods_it_is_drawn_to_come_first_inside_the_domain_too() -> None:
    found = solved(tree(), Request(3, ONE_EACH, rules(must(SPINE)), existing={"node-7": 1}))
    assert list(found) == ["node-7", "node-2", "node-1"]


def test_names_decide_whatever_domains_are_around() -> None:
    network = tree({"s1": {"b1": ("z",)}, "s2": {"b2": ("a",)}})
    assert solved(network, Request(1, {"a": 1, "z": 1}, rules())) == {"a": 1}


def test_bound_members_hold_the_gang_in_their_domain() -> None:
    wish = rules(must(SPINE))
    found = solved(tree(), Request(2, ONE_EACH, wish, bound={"node-5": 1}))
    assert set(found) <= {"node-6", "node-3", "node-5", "node-4"}
    full = {name: 1 for name in T1_NODES if name not in ("node-5", "node-4", "node-3")}
    refused = unsolved(tree(), Request(2, full, wish, bound={"node-5": 1}))
    assert refused.offers == (("s2", 1),)


def test_bound_members_on_a_node_outside_the_network_hold_nobody() -> None:
    assert solved(tree(), Request(2, ONE_EACH, rules(must(BLOCK)), bound={"gone": 1}))


def test_a_member_that_died_is_replaced_where_it_was() -> None:
    """Four on each of two nodes, one is missing: anywhere else it would be alone."""
    network = tree({"s1": {"b1": ("n1", "n2", "n3")}})
    wish = rules(prefer(NODE, 4))
    offers = {"n1": 4, "n2": 1, "n3": 8}
    assert solved(network, Request(1, offers, wish, bound={"n1": 4, "n2": 3})) == {"n2": 1}
    assert solved(network, Request(5, offers, wish, bound={"n1": 4, "n2": 3})) == {"n2": 1, "n3": 4}
    unsolved(network, Request(2, offers, wish, bound={"n1": 4, "n2": 3}))


def test_one_of_two_gaps_can_be_closed_alone() -> None:
    network = tree({"s1": {"b1": ("n1", "n2")}})
    bound = {"n1": 3, "n2": 2}
    wish = rules(prefer(NODE, 4))
    offers = {"n1": 4, "n2": 4}
    assert solved(network, Request(2, offers, wish, bound=bound)) == {"n2": 2}
    assert solved(network, Request(3, offers, wish, bound=bound)) == {"n1": 1, "n2": 2}


def test_a_gap_is_left_when_closing_it_would_leave_a_rest() -> None:
    network = tree({"s1": {"b1": ("n1", "n2", "n3")}})
    request = Request(6, {"n1": 1, "n2": 2, "n3": 4}, rules(prefer(NODE, 4)), bound={"n1": 3, "n2": 2})
    assert solved(network, request) == {"n2": 2, "n3": 4}


def test_between_equals_fewer_domains_below_are_better() -> None:
    """Six in two of b2's nodes rather than in three of b1's; both have room for eight."""
    network = tree({"s1": {"b1": ("n1", "n2", "n3"), "b2": ("n4", "n5", "n6")}})
    offers = {"n1": 3, "n2": 3, "n3": 2, "n4": 4, "n5": 4}
    assert set(solved(network, Request(7, offers, rules(must(BLOCK))))) == {"n4", "n5"}


def test_between_equals_large_domains_are_left_whole() -> None:
    network = tree({"s1": {"b1": ("n1", "n2"), "b2": ("n3", "n4")}})
    offers = {"n1": 5, "n2": 3, "n3": 4, "n4": 4}
    assert set(solved(network, Request(6, offers, rules(must(BLOCK))))) == {"n3", "n4"}


def test_between_equals_idle_domains_are_left_alone() -> None:
    request = Request(2, ONE_EACH, rules(must(BLOCK)), busy=lambda: ["node-3"])
    assert set(solved(tree(), request)) == {"node-3", "node-6"}
    around = Request(2, TWO_EACH, rules(), busy=lambda: ["node-5", "node-3", "node-6", "not in the tree"])
    assert solved(tree(), around) == {"node-3": 2}  # b3 has no idle node


def test_nobody_is_asked_who_is_busy_when_there_is_one_candidate() -> None:
    def never() -> list[str]:
        raise AssertionError

    assert solved(tree(), Request(8, ONE_EACH, rules(), busy=never)) == ONE_EACH


def test_nodes_outside_the_tree_offer_nothing() -> None:
    assert unsolved(tree(), Request(9, ONE_EACH | {"elsewhere": 9}, rules())).offers == (("", 8),)


def test_an_empty_network() -> None:
    found = unsolved(tree({}), Request(1, {"n1": 1}, rules(must(BLOCK))))
    assert (found.layer, found.offers) == (BLOCK, ())
    assert unsolved(tree({}), Request(1, {"n1": 1}, rules())).offers == (("", 0),)


def test_a_message_names_the_roomiest_domain() -> None:
    shape = {"s1": {f"b{number:02}": (f"n{number:02}",) for number in range(40)}}
    offers = {name: 1 + (name == "n39") for name in labels(shape)}
    message = unsolved(tree(shape), Request(3, offers, rules(must(BLOCK)))).message("why")
    assert message == "needs 3 slots in one block; the best block, b39, has 2; why"
