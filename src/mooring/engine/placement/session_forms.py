"""What a session says of nodes, in the form of a filter and a scorer that keep nothing.

They are the last of a pod's pipeline while a session is open that has such hooks. So they are asked about
nodes that all filters let pass, and what the others said is kept as beside any plugin that keeps nothing.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import msgspec
import numpy as np

from mooring.cluster.columns import Bools, StaticColumns
from mooring.cluster.nodes import NodeTable
from mooring.cluster.view import ClusterView, NodeView, StaticNode
from mooring.engine.placement.heard import Heard
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import Plugin, PluginArgs
from mooring.framework.api.session import Job, Number, Session, Task
from mooring.framework.api.status import Status
from mooring.framework.running.forms import Filter, Scorer
from mooring.model.objects import Pod

SESSION = "mooring/session"  # where a cycle holds the hearing of its pod


class Hearing(msgspec.Struct, frozen=True, eq=False):
    """A job in a session, whose hooks are asked about its pods."""

    session: Session
    job: Job
    heard: Heard = msgspec.field(default_factory=Heard)

    def clone(self) -> Hearing:
        """For a trial, of which nobody asks why."""
        return Hearing(self.session, self.job)

    def refusal(self, pod: Pod) -> Status | None:
        """Why the session lets the pod have no node at all, if it does not."""
        self.heard.refusal = self.session.hooks.ask("pre_predicate", Task(pod), self.job)
        return self.heard.refusal

    def rejection(self, pod: Pod, node: NodeView) -> Status | None:
        rejected: Status | None = self.session.hooks.ask("predicate", Task(pod), self.job, node)
        return rejected

    def order(self, pod: Pod, node: StaticNode) -> Number:
        number: Number = self.session.hooks.ask("node_order", Task(pod), node)
        return number


class SessionHooks(Plugin):
    """Stands for the plugins that register hooks: each answer names its own."""

    name = SESSION


HOOKS = SessionHooks(PluginArgs(), None)  # type: ignore[arg-type]  # it asks nobody for anything


class Predicates(Filter):
    """The predicates of the pod's session. Where there is none, nobody objects."""

    def __init__(self) -> None:
        super().__init__(HOOKS, _rejection, None)

    def one(
        self, cycle: Cycle, pod: Any, node: StaticNode, table: NodeTable, cluster: ClusterView
    ) -> Status | None:
        return _rejection(cycle, pod, cluster.view(node.row))


class NodeOrders(Scorer):
    """The node orders of the pod's session, added up."""

    def __init__(self) -> None:
        super().__init__(HOOKS, None, self.many)

    def many(self, cycle: Cycle, pod: Any, columns: StaticColumns, among: Bools, table: NodeTable) -> Any:
        """Whole numbers as long as all are; totals become fractions with the first that is one."""
        hearing: Hearing | None = cycle.read(SESSION, None)
        rows, view = np.flatnonzero(among), columns.at_row
        given = [0 if hearing is None else hearing.order(pod, view(row)) for row in rows.tolist()]
        whole = all(type(number) is int for number in given)
        numbers = np.zeros(len(among), np.int64 if whole else np.float64)
        numbers[rows] = given
        if hearing is not None:
            hearing.heard.orders = numbers
        return numbers


def _rejection(cycle: Cycle, pod: Pod, node: NodeView) -> Status | None:
    hearing: Hearing | None = cycle.read(SESSION, None)
    if hearing is None:
        return None
    rejection = hearing.rejection(pod, node)
    hearing.heard.put(node.row, rejection)
    return rejection


FORMS = {"predicate": Predicates(), "node_order": NodeOrders()}  # by the kind of hook
SOME_KINDS = [kinds for size in range(1, len(FORMS) + 1) for kinds in combinations(FORMS, size)]
