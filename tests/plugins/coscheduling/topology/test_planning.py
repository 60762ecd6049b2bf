"""Plans: members in the order of their index, all of them or as many as are needed."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from mooring.cluster.view import NodeView
from mooring.framework.api.grouping import Group, Plan
from mooring.framework.api.status import Code, Status
from mooring.model.objects import Pod
from mooring.plugins.coscheduling.topology.planning import Planner
from mooring.testing import pod
from mooring.workloads.topology_wishes import (
    SELECTOR_ANNOTATION,
    GatherRule,
    Wish,
    wish_of_kai,
    wish_of_kubernetes,
)
from plugins.coscheduling.topology.networks import BLOCK, LAYERS, NODE, SPINE, T1, T1_NODES, must, prefer
from plugins.coscheduling.topology.test_scoring import stage
from plugins.coscheduling.topology.test_trees import KAI, Handle
from plugins.stage import Stage

ONE_EACH = dict.fromkeys(T1_NODES, 1)
FULL = "0/8 nodes are available: 8 Insufficient cpu."


class Room:
    """So much room and no more."""

    def __init__(self, members: Iterable[Pod], offers: dict[str, int]) -> None:
        self.members = tuple(members)
        self._offers = offers

    def nodes(self) -> list[NodeView]:
        return []

    def offers(self) -> dict[str, int]:
        return self._offers

    def reasons(self) -> str:
        return FULL


def members(count: int, *, selector: str = "") -> list[Pod]:
    """Members w0, w1, ..."""
    made = [pod(f"w{number}") for number in range(count)]
    return [(one.annotation(SELECTOR_ANNOTATION, selector) if selector else one).build() for one in made]


class World:
    def __init__(self) -> None:
        self.stage: Stage = stage(T1)
        self.handle = Handle(self.stage)
        self.planner = Planner(self.handle, LAYERS)

    def plan(
        self,
        wish: Wish,
        of: list[Pod],
        offers: dict[str, int],
        needed: int | None = None,
        bound: Iterable[tuple[Pod, str]] = (),
    ) -> Plan | Status:
        group = Group("gang", "gang default/gang", tuple(of), len(of) if needed is None else needed)
        return self.planner.plan(group, Room(of, offers), wish, bound)

    def planned(self, *args: object, **kwargs: object) -> dict[str, str]:
        """Nodes by the names of members."""
        found = self.plan(*args, **kwargs)  # type: ignore[arg-type]
        assert isinstance(found, Plan), found
        of: list[Pod] = args[1]  # type: ignore[assignment]
        names = {each.uid: each.name for each in of}
        return {names[uid]: node_name for uid, node_name in found.nodes.items()}

    def refused(self, *args: object, **kwargs: object) -> Status:
        found = self.plan(*args, **kwargs)  # type: ignore[arg-type]
        assert isinstance(found, Status), found
        return found


@pytest.fixture
def world() -> World:
    return World()


def wish(*given: GatherRule) -> Wish:
    return Wish(given)


def test_members_are_assigned_in_their_order(world: World) -> None:
    of = members(4)
    in_order = ["node-1", "node-8", "node-2", "node-7"]
    assert list(world.planned(wish(), of, ONE_EACH).items()) == list(
        zip(("w0", "w1", "w2", "w3"), in_order, strict=True)
    )
    assert list(world.planned(wish(), of[::-1], ONE_EACH).items()) == list(
        zip(("w3", "w2", "w1", "w0"), in_order, strict=True)
    )


def test_a_node_is_filled_before_the_next(world: World) -> None:
    offers = {"node-1": 2, "node-8": 1}
    assert world.planned(wish(), members(3), offers) == {"w0": "node-1", "w1": "node-1", "w2": "node-8"}


def test_all_members_when_they_fit(world: World) -> None:
    assert len(world.planned(wish(must(SPINE)), members(4), ONE_EACH, needed=2)) == 4


def test_q21_as_many_as_are_needed_when_not_all_fit(world: World) -> None:
    found = world.planned(wish(must(SPINE)), members(5), ONE_EACH, needed=2)
    assert found == {"w0": "node-1", "w1": "node-8"}


def test_the_next_multiple_of_what_is_needed(world: World) -> None:
    offers = dict.fromkeys(T1_NODES, 4)
    found = world.planned(wish(must(BLOCK), prefer(NODE, 4)), members(14), offers, needed=6)
    assert len(found) == 8


def test_nt4_the_whole_message(world: World) -> None:
    offers = {name: 1 for name in T1_NODES if name not in ("node-1", "node-4")}
    status = world.refused(wish(must(SPINE)), members(4), offers)
    assert status.code is Code.UNSCHEDULABLE
    assert status.message == f"needs 4 slots in one spine; the best spine, s1, has 3; {FULL}"


def test_the_message_is_about_what_is_needed_when_that_is_less(world: World) -> None:
    assert "needs 5 slots" in world.refused(wish(must(SPINE)), members(7), ONE_EACH, needed=5).message


def test_q21_bound_members_count_and_draw_the_others(world: World) -> None:
    running = pod("w9").build(), "node-6"
    found = world.planned(wish(must(SPINE)), members(1), ONE_EACH, bound=[running])
    assert found == {"w0": "node-6"}
    found = world.planned(wish(must(SPINE)), members(3), ONE_EACH, bound=[running])
    assert set(found.values()) < {"node-3", "node-4", "node-5", "node-6"}


def test_pods_of_the_selector_draw_them_each_once(world: World) -> None:
    there = [pod(f"x{number}").annotation(SELECTOR_ANNOTATION, "x").build() for number in (1, 2)]
    for each in there:
        world.stage.take(each, "node-4")
    assert world.planned(wish(), members(1, selector="x"), ONE_EACH) == {"w0": "node-4"}
    bound = [(each, "node-4") for each in there]
    marks = world.planner.marks
    assert marks.existing("x", bound) == {"node-4": 2}
    assert marks.existing("", bound) == {"node-4": 2}
    assert marks.existing("y") == {}


def test_idle_domains_are_left_to_others(world: World) -> None:
    world.stage.take(pod("log").owned_by("DaemonSet", "log").build(), "node-6")
    assert world.planned(wish(must(BLOCK)), members(2), ONE_EACH)["w0"] == "node-1"
    world.stage.take(pod("web").build(), "node-6")
    assert world.planned(wish(must(BLOCK)), members(2), ONE_EACH) == {"w0": "node-3", "w1": "node-6"}


def test_levels_of_kai(world: World) -> None:
    world.handle.put(*KAI, "net", {"levels": [{"nodeLabel": "spine"}, {"nodeLabel": "block"}]})
    constraint = {"topology": "net", "requiredTopologyLevel": "spine", "preferredTopologyLevel": "block"}
    kai = wish_of_kai(constraint)
    assert kai is not None
    assert set(world.planned(kai, members(2), ONE_EACH).values()) == {"node-1", "node-8"}
    assert "the best spine, s1, has 4;" in world.refused(kai, members(5), ONE_EACH).message
    block = wish_of_kai({"topology": "net", "requiredTopologyLevel": "block"})
    assert block is not None
    assert "the best block, s1.b1, has 2;" in world.refused(block, members(3), ONE_EACH).message


def test_the_label_of_kubernetes(world: World) -> None:
    kubernetes = wish_of_kubernetes({"topology": [{"key": "block"}]})
    assert kubernetes is not None
    assert set(world.planned(kubernetes, members(2), ONE_EACH).values()) == {"node-1", "node-8"}
    assert "the best block, b1, has 2" in world.refused(kubernetes, members(3), ONE_EACH).message


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Wish((GatherRule("Row", field="gatherStrategy[0].layer"),)), 'there is no topology layer "Row".'),
        (Wish((), topology="nowhere"), 'no topology named "nowhere"'),
    ],
)
def test_what_cannot_be_helped_by_waiting(world: World, wrong: Wish, message: str) -> None:
    status = world.refused(wrong, members(2), ONE_EACH)
    assert status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert message in status.message


def test_no_network(world: World) -> None:
    planner = Planner(world.handle)
    group = Group("g", "gang g", tuple(members(1)), 1)
    status = planner.plan(group, Room(members(1), ONE_EACH), wish())
    assert isinstance(status, Status)
    assert status.message == "no cluster network topology"
