"""The pods that hold, or are promised, a place on a node."""

from __future__ import annotations

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


class PodTable:
    """Placed pods by uid, and by row in the order they came."""

    def __init__(self) -> None:
        self.by_uid: dict[str, Placed] = {}
        self.on_row: list[dict[str, Placed]] = []
        self.homeless: dict[str, dict[str, Placed]] = {}  # by the name of the node nobody knows
        self._turns = 0

    def __len__(self) -> int:
        return len(self.by_uid)

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
