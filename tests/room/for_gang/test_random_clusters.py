"""On random clusters: evicting whom it says makes the gang fit where it says, and nobody goes in vain."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from engine.stage import made, node, pod
from mooring.engine.decisions import Bind
from mooring.framework.api.status import unschedulable
from mooring.model.objects import Pod
from room.for_gang.arena import Answer, Arena, answer, gang_pods

EXAMPLES = int(os.environ.get("MOORING_SOAK_EXAMPLES", "100"))
PROTECTED = {"scheduling.koordinator.sh/disable-preemptible": "true"}
CROWDED = 4  # pods to a node, where something besides resources decides
LEAVING = "2026-01-01T00:00:00Z"


class Placed(NamedTuple):
    """A pod of a scenario. Gangs are named by a letter; pods of no gang by ""."""

    node: int
    cpu: int
    priority: int
    gang: str = ""
    protected: bool = False
    leaving: bool = False
    app: str = ""


class Scenario(NamedTuple):
    cpus: list[int]  # of nodes
    placed: list[Placed]
    least: dict[str, int]  # of gangs
    budgets: dict[str, int]
    members: list[int]  # cpu of each
    needed: int
    priorities: list[int]
    crowded: bool
    strict: bool


placed_pods = st.builds(
    Placed,
    node=st.integers(0, 4),
    cpu=st.integers(1, 4),
    priority=st.sampled_from([3, 2, 1, 0, 0, 5]),
    gang=st.sampled_from(["", "x", "", "y", "", "z"]),
    protected=st.integers(0, 9).map(lambda n: n == 0),
    leaving=st.integers(0, 9).map(lambda n: n == 0),
    app=st.sampled_from(["", "", "web", "db"]),
)


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    members = draw(st.one_of(
        st.lists(st.integers(1, 4), min_size=1, max_size=4),
        st.builds(lambda cpu, count: [cpu] * count, st.integers(1, 4), st.integers(1, 4)),
    ))  # fmt: skip
    low, high = draw(st.sampled_from([(5, 5), (6, 6), (4, 6), (3, 3)]))
    return Scenario(
        cpus=draw(st.lists(st.integers(4, 8), min_size=2, max_size=5)),
        placed=draw(st.lists(placed_pods, min_size=6, max_size=18)),
        least=draw(st.fixed_dictionaries(dict.fromkeys("xyz", st.integers(0, 4)))),
        budgets=draw(st.dictionaries(st.sampled_from(["web", "db"]), st.integers(0, 2))),
        members=members,
        needed=draw(st.integers(1, len(members))),
        priorities=draw(st.lists(st.integers(low, high), min_size=len(members), max_size=len(members))),
        crowded=draw(st.booleans()),
        strict=draw(st.booleans()),
    )


def _filter(self: Any, cycle: Any, pod: Pod, node: Any) -> Any:
    return unschedulable("crowded") if len(node.pods) >= CROWDED else None


def staged(scenario: Scenario) -> tuple[Arena, dict[str, Pod]]:
    """The cluster of a scenario, with the pods that found room on their nodes."""
    arena = Arena(made("Crowd", filter=_filter)) if scenario.crowded else Arena()
    for number, cpu in enumerate(scenario.cpus):
        arena.nodes(node(f"n{number}", cpu=cpu, pods=8))
    for app, allowed in scenario.budgets.items():
        arena.budget(app, allowed, app=app)
    there: dict[str, Pod] = {}
    for number, each in enumerate(scenario.placed):
        name = f"n{each.node % len(scenario.cpus)}"
        labels = {"app": each.app} if each.app else {}
        labels |= PROTECTED if each.protected else {}
        more = {"labels": labels, "deleting": LEAVING if each.leaving else None}
        more |= {"cpu": each.cpu, "priority": each.priority, "namespace": "default"}
        if each.gang:
            made_of = gang_pods(each.gang, 1, scenario.least[each.gang])[0]
            more["annotations"] = made_of.metadata.annotations
        there[f"p{number}"] = arena.running(pod(f"p{number}", **more), name)
    return arena, there


def members_of(scenario: Scenario) -> list[Pod]:
    notes = {"mode": "Strict" if scenario.strict else "NonStrict"}
    whole = gang_pods("g", len(scenario.members), scenario.needed, notes=notes)
    return [
        pod(each.name, cpu=cpu, priority=priority, annotations=each.metadata.annotations)
        for each, cpu, priority in zip(whole, scenario.members, scenario.priorities, strict=True)
    ]


class World:
    """Whether members fit on their nodes beside some pods, worked out the plain way."""

    def __init__(self, scenario: Scenario, there: dict[str, Pod], members: list[Pod], found: Answer) -> None:
        self.scenario = scenario
        self.there = there
        self.members = {each.name: each for each in members if each.name in found.nominated}
        self.nominated = found.nominated

    def fits(self, staying: set[str]) -> bool:
        for number, cpu in enumerate(self.scenario.cpus):
            name = f"n{number}"
            mine = [each for key, each in self.members.items() if self.nominated[key] == name]
            others = [self.there[key] for key in staying if self.there[key].spec.node_name == name]
            if not mine:
                continue
            most = CROWDED if self.scenario.crowded else 8
            if sum(each.request.cpu_milli for each in mine + others) > 1000 * cpu:
                return False
            if len(mine) + len(others) > most:
                return False
        return True

    def gang(self, name: str) -> str:
        return self.scenario.placed[int(name[1:])].gang

    def bears(self, victims: set[str], staying: set[str], gang: str) -> bool:
        """Whether nobody of a gang goes, or all, or as many stay as it needs; one that has too few anyhow,
        and cannot go, may lose any."""
        mine = {key for key in self.there if self.gang(key) == gang and not self.there[key].terminating}
        stay = len(mine & staying)
        if not (mine & victims) or not stay or stay >= self.scenario.least[gang]:
            return True
        return len(mine) < self.scenario.least[gang] and any(map(self.must_stay, mine))

    def must_stay(self, name: str) -> bool:
        each = self.scenario.placed[int(name[1:])]
        lowest = min(member.priority for member in self.members.values())
        return each.protected or each.priority >= lowest or each.app in self.scenario.budgets


@settings(max_examples=EXAMPLES, deadline=None)
@given(scenarios())
def test_a_way_out_is_one(scenario: Scenario) -> None:
    arena, there = staged(scenario)
    pods = members_of(scenario)
    before = arena.columns()
    arena.add(*pods)
    decisions = arena.cycle() or []
    if any(isinstance(each, Bind) for each in decisions):
        return
    found = answer(decisions)
    after = arena.columns()
    assert after[:3] == before[:3]
    arena.engine.cluster.check()
    if not found.nominated:
        assert not found.victims
        assert after == before
        _is_right_to_give_up(scenario, there, pods)
        return
    assert "to make room" in found.message
    _nobody_goes_in_vain(scenario, there, pods, found)
    _starts(arena, there, pods, found)


def _nobody_goes_in_vain(scenario: Scenario, there: dict[str, Pod], pods: list[Pod], found: Answer) -> None:
    world = World(scenario, there, pods, found)
    victims = set(found.victims)
    lowest = min(each.priority for each in world.members.values())
    for name in victims:
        assert there[name].priority < lowest
        assert not there[name].terminating
        assert not scenario.placed[int(name[1:])].protected
    leaving = {key for key, each in there.items() if each.terminating and each.priority < lowest}
    staying = there.keys() - victims - leaving
    assert world.fits(staying)
    for gang in "xyz":
        assert world.bears(victims, staying, gang), gang
    for name in victims:
        back = {name}
        if gang := world.gang(name):
            mine = {key for key in victims if world.gang(key) == gang}
            if not world.bears(victims - back, staying | back, gang):
                back = mine  # it comes back with its whole gang, or not at all
        assert not world.fits(staying | back), f"{back} need not go"


def _starts(arena: Arena, there: dict[str, Pod], pods: list[Pod], found: Answer) -> None:
    """Once victims and those leaving have gone, members come to the nodes they were promised."""
    lowest = min(each.priority for each in pods if each.name in found.nominated)
    for name, each in there.items():
        if name in found.victims or (each.terminating and each.priority < lowest):
            arena.delete(each)
    arena.tick(arena.now + 60.0)
    arena.engine.activate(pods)
    got = arena.all()
    assert found.nominated.items() <= got.items()
    arena.engine.cluster.check()


def _is_right_to_give_up(scenario: Scenario, there: dict[str, Pod], pods: list[Pod]) -> None:
    """Where it is easily told: members are alike, no gang is in the way, and resources decide."""
    if len(set(scenario.members)) > 1 or len(set(scenario.priorities)) > 1 or scenario.crowded:
        return
    if any(each.gang for each in scenario.placed):
        return
    priority, cpu = pods[0].priority, scenario.members[0]
    room = Counter({f"n{number}": size for number, size in enumerate(scenario.cpus)})
    places = Counter(dict.fromkeys(room, 8))
    for number, each in enumerate(scenario.placed):
        if each.priority >= priority or (each.protected and not each.leaving):
            name = there[f"p{number}"].spec.node_name
            room[name] -= each.cpu
            places[name] -= 1
    assert sum(max(min(room[name] // cpu, places[name]), 0) for name in room) < scenario.needed
