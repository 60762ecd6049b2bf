"""Random lives of pods and pod groups: a plain account of them agrees, nobody is forgotten."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mooring.framework.api.grouping import Group
from mooring.model.objects import Pod
from mooring.workloads.gang import Gang, State
from plugins.coscheduling.hand import CYCLE, GANG, Hand, changed, labelled, member, pod, pod_group

NAMES = ["p0", "p1", "p2", "p3", "p4"]
GANGS = ["a", "b"]
BOTH = '["default/a","default/b"]'

operations = st.one_of(
    st.tuples(st.just("come"), st.sampled_from(NAMES), st.sampled_from(GANGS), st.integers(0, 7)),
    st.tuples(
        st.sampled_from(
            ["go", "pop", "permit", "unreserve", "bind", "bound", "delete", "end", "wake", "leave"]
        ),
        st.sampled_from(NAMES),
    ),
    st.tuples(st.just("object"), st.sampled_from(GANGS), st.integers(0, 3), st.booleans()),
    st.tuples(st.just("no object"), st.sampled_from(GANGS)),
    st.tuples(st.just("time"), st.sampled_from([1.0, 100.0, 700.0])),
)


class World(Hand):
    """The plugin, a queue that only knows who may be tried, and a plain account of every pod."""

    def __init__(self) -> None:
        super().__init__()
        self.pods: dict[str, Pod] = {}
        self.holds: set[str] = set()
        self.were_bound: set[str] = set()
        self.active: set[str] = set()
        self.gated: set[str] = set()
        self.wanted: list[str] = []

    def activate(self, pods: Any) -> None:
        self.wanted += [pod.name for pod in pods]

    def settle(self) -> None:
        """Whoever is activated goes through the gate again."""
        for _ in range(100):
            if not self.wanted:
                return
            name = self.wanted.pop()
            if name in self.pods and name not in self.holds:
                self.enter(name)
        raise AssertionError("pods wake each other for ever")

    def enter(self, name: str) -> None:
        if self.expected(name) in (State.PENDING, State.ASIDE, None) and not self.gate(self.pods[name]):
            self.active.add(name)
            self.gated.discard(name)
        else:
            self.active.discard(name)
            self.gated.add(name)

    def show(self, pod: Pod) -> None:
        self.pods[pod.name] = pod
        self.see(pod)
        self.enter(pod.name)

    def forget(self, name: str) -> None:
        for kept in (self.holds, self.were_bound, self.active, self.gated):
            kept.discard(name)

    def expected(self, name: str) -> State | None:
        pod = self.pods.get(name)
        if pod is None or pod.status.phase or not (pod.labels or pod.annotations):
            return None
        if pod.terminating:
            return State.ASIDE
        if pod.spec.node_name or name in self.were_bound:
            return State.BOUND
        if name in self.holds:
            return State.WAITING
        wrong = "foo" in pod.annotations.values() or pod.spec.scheduler_name == "other"
        return State.ASIDE if pod.spec.scheduling_gates or wrong else State.PENDING

    # what happens

    def do(self, what: str, *about: Any) -> None:
        match what:
            case "come":
                self._come(*about)
            case "object":
                name, least, both = about
                self.put(
                    pod_group(name, minMember=least, annotations={GANG + "groups": BOTH} if both else {})
                )
            case "no object":
                self.drop(pod_group(about[0]))
            case "time":
                self.follow_up(self.time + about[0])
            case _ if about[0] in self.pods:
                getattr(self, f"_{what}")(about[0], self.pods[about[0]])

    def _come(self, name: str, gang: str, kind: int) -> None:
        if name in self.pods:
            return
        made: list[Pod] = [
            member(name, gang, 2),
            member(name, gang, 1, policy="waiting-and-running"),
            member(name, gang, 2, policy="only-waiting"),
            member(name, gang, 2, mode="foo"),
            member(name, gang, 2, groups=BOTH),
            labelled(name, gang),
            member(name, gang, 2, scheduler_name="other"),
            member(name, gang, 2, gates=["g"]),
        ]
        self.show(made[kind])

    def _go(self, name: str, pod: Pod) -> None:
        del self.pods[name]
        self.forget(name)
        self.gone(pod)

    def _pop(self, name: str, pod: Pod) -> None:
        if name in self.active:
            self.active.discard(name)
            found = self.plugin.group(pod)
            if isinstance(found, Group):
                assert found.needed > 0
                assert all(self.expected(each.name) is State.PENDING for each in found.members)
                self.active -= {each.name for each in found.members}
                self.gated -= {each.name for each in found.members}

    def _wake(self, name: str, pod: Pod) -> None:
        """An event has pods that wait tried again."""
        if name not in self.holds:
            self.enter(name)

    def _permit(self, name: str, pod: Pod) -> None:
        if self.expected(name) is State.PENDING:
            self.holds.add(name)
            self.active.discard(name)
            self.gated.discard(name)
            self.take(pod)
            self.plugin.permit(CYCLE, pod, "n")

    def _unreserve(self, name: str, pod: Pod) -> None:
        if name in self.holds:
            self.holds.discard(name)
            self.unreserve(pod)

    def _bind(self, name: str, pod: Pod) -> None:
        if self.expected(name) is State.WAITING:
            self.holds.discard(name)
            self.were_bound.add(name)
            self.gangs.bound(pod.uid)
            self.plugin.pod_bound(pod, "n")

    def _bound(self, name: str, pod: Pod) -> None:
        self.holds.discard(name)
        self.active.discard(name)
        self.show(pod.on_node("n"))

    def _delete(self, name: str, pod: Pod) -> None:
        self.holds.discard(name)
        self.show(changed(pod, deletion_timestamp="2026-01-01T00:00:00Z"))
        self.give_back(pod)
        self.active.discard(name)

    def _end(self, name: str, pod: Pod) -> None:
        self.forget(name)
        ended = member(name, "a", phase="Succeeded")
        self.pods[name] = ended
        self.see(ended)
        self.give_back(ended)

    def _leave(self, name: str, pod_: Pod) -> None:
        """It belongs to no gang any more."""
        if name not in self.holds | self.were_bound and not pod_.spec.node_name:
            self.show(pod(name))

    # what must hold

    def check(self) -> None:
        self._cluster.books.check()
        table = self.gangs
        known = {each.pod.name: each.state for each in table.members.values()}
        assert known == {name: found for name in self.pods if (found := self.expected(name)) is not None}
        for key, gang in table.gangs.items():
            assert gang.key == key
            assert gang.members or gang.by_object
            self._check_gang(gang)
        for each in table.members.values():
            if each.state is State.PENDING and each.pod.name in self.gated:
                assert each.uid in each.gang.group.held
        assert set(table.groups) == {gang.group.key for gang in table.gangs.values()}
        for group in table.groups.values():
            own = {uid for gang in table.gangs.values() if gang.group is group for uid in gang.members}
            assert set(group.held) <= own
            if group.representative:
                standing = table.members[group.representative]
                assert standing.state is State.PENDING or standing.state is State.WAITING
                assert group.representative in own
            self._check_nobody_is_stuck(group)

    def _check_gang(self, gang: Gang) -> None:
        for standing, crowd in gang.crowds.items():
            mine = {each.uid for each in gang.members.values() if each.standing is standing}
            assert {each.uid for each in crowd} == mine
            assert +crowd.parts == Counter(each.declared.part for each in crowd)

    def _check_nobody_is_stuck(self, group: Any) -> None:
        """A group that can be tried has somebody in the queue, or nobody who is held back by the gate."""
        held = [each for each in group.held.values() if each.state is State.PENDING]
        if not held or group.problem():
            return
        if any(group.lets_alone(each.gang) for each in held) or not group.needed():
            raise AssertionError(f"{held[0].pod.key} is held back from nothing")
        assert group.representative, held[0].pod.key


@given(st.lists(operations, max_size=40))
def test_states_are_those_of_a_plain_account(steps: list[Any]) -> None:
    world = World()
    for step in steps:
        world.do(*step)
        world.settle()
        world.check()


@given(st.lists(operations, max_size=40))
def test_a_group_that_has_started_stays_so(steps: list[Any]) -> None:
    world = World()
    started: dict[int, Any] = {}
    for step in steps:
        world.do(*step)
        world.settle()
        groups = world.plugin.gangs.groups.values()
        started |= {id(group): group for group in groups if group.satisfied}
        assert all(group.satisfied for group in started.values())
