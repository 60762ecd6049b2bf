"""Plans for gangs: which node each member is to be tried on, so that the gang is where it wishes to be.

Members are assigned in the order they come in, which is that of their index: one node is filled after the
other, so that neighbours in rank are neighbours in the network.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mooring.errors import ManifestError
from mooring.framework.api.grouping import Group, Plan, Room
from mooring.framework.api.handle import Handle
from mooring.framework.api.status import Status, unresolvable, unschedulable
from mooring.model.objects import Pod
from mooring.plugins.coscheduling.topology.layers import Layout
from mooring.plugins.coscheduling.topology.marks import Marks
from mooring.plugins.coscheduling.topology.rules import Rules, rules_for
from mooring.plugins.coscheduling.topology.solver import NoPlace, solve
from mooring.plugins.coscheduling.topology.spaces import Request
from mooring.plugins.coscheduling.topology.tree import Tree
from mooring.plugins.coscheduling.topology.trees import Trees
from mooring.workloads.topology_wishes import Wish, selector_of


class Planner:
    """Plans on the cluster as the handle shows it. `layout` are the layers of the plugin's arguments."""

    def __init__(self, handle: Handle, layout: Layout | None = None) -> None:
        self.trees = Trees(handle, layout)
        self.marks = Marks(handle)

    def plan(
        self,
        group: Group,
        room: Room,
        wish: Wish,
        bound: Iterable[tuple[Pod, str]] = (),
        costs: Mapping[str, int] | None = None,
    ) -> Plan | Status:
        """A node for every member if all of them fit, else for as many as are needed.

        `bound` are members that have their place already, and the node it is on; `costs` are of using nodes,
        the less the better.
        """
        try:
            tree = self.trees.of(wish)
            rules = rules_for(tree.layout, wish)
        except ManifestError as error:
            return unresolvable(str(error))
        return self._planned(tree, rules, group.needed, room, tuple(bound), costs or {})

    def _planned(
        self,
        tree: Tree,
        rules: Rules,
        needed: int,
        room: Room,
        bound: Sequence[tuple[Pod, str]],
        costs: Mapping[str, int],
    ) -> Plan | Status:
        members, offers = room.members, room.offers()
        existing = self.marks.existing(selector_of(members[0]), bound)
        held = Counter(name for _, name in bound)
        least: NoPlace | None = None
        step = rules.multiples_below[0]
        for count in numbers_to_try(len(members), needed, rules):
            request = Request(count, offers, rules, existing, held, costs, self.marks.busy)
            found = solve(tree, request)
            if not isinstance(found, NoPlace):
                return Plan(assigned(members, found))
            if least is None or (count < least.desired and count % step == 0):
                least = found
        assert least is not None, "a number of members is always tried"
        return unschedulable(least.message(room.reasons()))


def numbers_to_try(members: int, needed: int, rules: Rules) -> Iterator[int]:
    """All members; then as many as are needed, and a few more where only multiples will do."""
    yield members
    step = rules.multiples_below[0]
    yield from range(max(needed, 1), min(members, max(needed, 1) + step))


def assigned(members: Sequence[Pod], shares: Iterable[tuple[str, int]]) -> dict[str, str]:
    """Members in their order onto nodes in theirs, each node filled before the next."""
    nodes = (name for name, count in shares for _ in range(count))
    return {member.metadata.uid: name for member, name in zip(members, nodes, strict=False)}
