"""The pods that hold, or are promised, a place on a node."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from enum import Enum

import msgspec

from mooring.cluster.charge import Charge
from mooring.cluster.labelsets import LabelSet
from mooring.model.objects import Pod


class Hold(Enum):
    """How a pod holds its place."""

    ASSUMED = "assumed"  # decided by us, the API server has not confirmed it yet
    BOUND = "bound"  # the API server says so
    RELEASING = "releasing"  # on its way out; still holds what it took
    PROMISED = "promised"  # waits for releasing room; holds nothing yet


# Python finds a member of an Enum by its class more slowly than it calls a function: hence these names.
ASSUMED, BOUND, RELEASING, PROMISED = Hold


class Placed(msgspec.Struct, eq=False, gc=False):
    """A pod with its place. `row` is None while its node is unknown: it then charges nobody."""

    pod: Pod
    node: str
    row: int | None
    charge: Charge
    hold: Hold
    turn: int = 0  # pods came in this order; given by the table
    kind: int = -1  # given by who compares pods of many nodes; -1 when the pod has to be looked at anew
    started_us: int = 0  # goes with it
    labelset: LabelSet | None = None  # of the pod's labels; None when they have to be looked at


twin_of: Callable[[Placed], Placed] = Placed.__copy__  # type: ignore[attr-defined]  # quicker than `copy`
KINDS = 2**40  # there are never so many
RANGES = itertools.count()


class PodTable:
    """Placed pods by uid, and by row in the order they came."""

    def __init__(self) -> None:
        self.by_uid: dict[str, Placed] = {}
        self.on_row: list[dict[str, Placed]] = []
        self.homeless: dict[str, dict[str, Placed]] = {}  # by the name of the node nobody knows
        self.shared = False  # whether another table has some of the entries
        self._own: set[str] = set()  # uids of entries that no other has, if it is
        self.kinds_from = next(RANGES) * KINDS  # of other tables, what `kind` says is not from here on
        self._turns = 0

    def __len__(self) -> int:
        return len(self.by_uid)

    def fork(self, *, lasting: bool = True) -> PodTable:
        """A table with the same in it that goes its own way. Both have the same entries, until one of them is
        about to change one: then it takes one of its own. This one need not when the fork does not last."""
        fork = PodTable()
        fork.by_uid, fork._turns = self.by_uid.copy(), self._turns
        fork.on_row = [pods.copy() for pods in self.on_row]
        fork.homeless = {name: pods.copy() for name, pods in self.homeless.items()}
        for table in (self, fork) if lasting else (fork,):
            table.shared, table._own = True, set()
        return fork

    def own(self, placed: Placed) -> Placed:
        """The entry of a pod, for this table alone to change. `placed` is this one or an earlier one."""
        uid = placed.pod.metadata.uid
        entry = self.by_uid[uid]
        if uid not in self._own:
            self._own.add(uid)
            entry = self.by_uid[uid] = twin_of(entry)
            pods = self.homeless[entry.node] if entry.row is None else self.on_row[entry.row]
            pods[uid] = entry
        return entry

    def on(self, row: int) -> dict[str, Placed]:
        while len(self.on_row) <= row:
            self.on_row.append({})
        return self.on_row[row]

    def add(self, placed: Placed) -> None:
        uid, row = placed.pod.metadata.uid, placed.row
        self.by_uid[uid] = placed
        if row is None:
            pods = self.homeless.setdefault(placed.node, {})
        else:
            pods = self.on_row[row] if row < len(self.on_row) else self.on(row)
        if placed.turn:
            _insert(pods, placed)
            return
        self._turns = placed.turn = self._turns + 1
        pods[uid] = placed  # nobody came later

    def remove(self, placed: Placed) -> None:
        uid = placed.pod.metadata.uid
        del self.by_uid[uid]
        if self.shared:
            self._own.discard(uid)
        if placed.row is not None:
            del self.on_row[placed.row][uid]
            return
        homeless = self.homeless[placed.node]
        del homeless[uid]
        if not homeless:
            del self.homeless[placed.node]


def _insert(pods: dict[str, Placed], placed: Placed) -> None:
    """Puts a pod that has been here before at its turn: its going was undone."""
    is_last = not pods or next(reversed(pods.values())).turn < placed.turn
    pods[placed.pod.metadata.uid] = placed
    if not is_last:
        in_turn = sorted(pods.items(), key=lambda item: item[1].turn)
        pods.clear()
        pods.update(in_turn)
