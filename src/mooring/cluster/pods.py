"""The pods that hold, or are promised, a place on a node."""

from __future__ import annotations

from enum import Enum

import msgspec

from mooring.cluster.charge import Charge
from mooring.model.objects import Pod


class Hold(Enum):
    """How a pod holds its place."""

    ASSUMED = "assumed"  # decided by us, the API server has not confirmed it yet
    BOUND = "bound"  # the API server says so
    RELEASING = "releasing"  # on its way out; still holds what it took
    PROMISED = "promised"  # waits for releasing room; holds nothing yet


class Placed(msgspec.Struct, eq=False):
    """A pod with its place. `row` is None while its node is unknown: it then charges nobody."""

    pod: Pod
    node: str
    row: int | None
    charge: Charge
    hold: Hold


class PodTable:
    """Placed pods by uid, and by row in the order they came."""

    def __init__(self) -> None:
        self.by_uid: dict[str, Placed] = {}
        self.on_row: list[dict[str, Placed]] = []
        self.homeless: dict[str, dict[str, Placed]] = {}  # by the name of the node nobody knows

    def __len__(self) -> int:
        return len(self.by_uid)

    def on(self, row: int) -> dict[str, Placed]:
        while len(self.on_row) <= row:
            self.on_row.append({})
        return self.on_row[row]

    def add(self, placed: Placed) -> None:
        uid = placed.pod.metadata.uid
        self.by_uid[uid] = placed
        if placed.row is None:
            self.homeless.setdefault(placed.node, {})[uid] = placed
        else:
            self.on(placed.row)[uid] = placed

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
