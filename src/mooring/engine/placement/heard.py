"""What a session said of the nodes for one pod, kept for who asks why: its hooks cannot be asked again."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import msgspec
import numpy as np

from mooring.cluster.columns import Bools
from mooring.framework.api.session import HOOKS
from mooring.framework.api.status import Status

SAID = "mooring/said"  # where a cycle holds the testimony of a session that may be over
MOST_DISTINCT = 8  # reasons of one plugin and another; more of them are put together

Said = tuple[str, tuple[str, ...]]  # a plugin, and its reasons
OTHERS: Said = ("", (HOOKS["predicate"].no,))


class Heard:
    """What is heard while a pod is tried. What is said of a node last is what counts."""

    def __init__(self) -> None:
        self.refusal: Status | None = None  # of the pod, wherever it would go
        self.rejections: dict[int, Status] = {}  # by row
        self.among_nominated: dict[int, Status] = {}  # the same, with the pods nominated to the node on it
        self.orders: Any = None  # of each row: an array

    def put(self, row: int, rejection: Status | None) -> None:
        if rejection is not None:
            self.rejections[row] = rejection
        elif self.rejections:
            self.rejections.pop(row, None)

    def put_among_nominated(self, row: int, trial: Heard) -> None:
        """What was said of a node in a trial with the pods that are nominated to it."""
        self.among_nominated.pop(row, None)
        if (rejection := trial.rejections.get(row)) is not None:
            self.among_nominated[row] = rejection

    def testimony(self) -> Testimony:
        rows: defaultdict[Said, list[int]] = defaultdict(list)
        for row, status in {**self.rejections, **self.among_nominated}.items():
            said = status.plugin, status.reasons
            rows[said if said in rows or len(rows) < MOST_DISTINCT else OTHERS].append(row)
        bits = tuple((said, _bits(found)) for said, found in rows.items())
        return Testimony(self.refusal, bits, None if self.orders is None else Orders(self.orders))


class Orders:
    """What node orders came to, a number a row. Much to keep, so that it is kept for few."""

    def __init__(self, numbers: Any) -> None:
        self.numbers = numbers


class Testimony(msgspec.Struct, frozen=True, eq=False):
    """The same, small, as notes are many: a bit a row for each distinct reason."""

    refusal: Status | None
    rejected: tuple[tuple[Said, bytes], ...]
    orders: Orders | None

    def reject(self, candidates: Bools) -> Counter[tuple[str, str]]:
        """Takes away the rows that the session rejected. Returns how often each reason was given."""
        counts: Counter[tuple[str, str]] = Counter()
        for (plugin, reasons), bits in self.rejected:
            known = np.unpackbits(np.frombuffer(bits, np.uint8)).astype(np.bool_)[: len(candidates)]
            among = candidates[: len(known)] & known
            counts.update({(plugin, reason): int(among.sum()) for reason in reasons})
            candidates[: len(known)] &= ~known
        return +counts


def _bits(rows: list[int]) -> bytes:
    mask = np.zeros(max(rows) + 1, np.bool_)
    mask[rows] = True
    return np.packbits(mask).tobytes()
