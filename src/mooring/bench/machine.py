"""How fast this machine is, beside the one the bars were set on.

A fixed piece of work of the kind the engine does: calls, attributes, dicts and lists of plain Python, and
NumPy over columns of a few thousand rows. It stays as it is: with other work the reference means nothing.
"""

from __future__ import annotations

from time import process_time

import numpy as np

REFERENCE_S = (
    0.0120  # processor time of `work` on the machine the bars were set on: two cores of a shared Xeon
)
ROUNDS = 200
ROWS = 5000


class _Row:
    __slots__ = ("free", "score", "taken")

    def __init__(self, number: int) -> None:
        self.free = 4000 + number % 7
        self.taken = 0
        self.score = 0

    def take(self, amount: int) -> int:
        self.taken += amount
        self.score = 100 * (self.free - self.taken) // self.free
        return self.score


def speed() -> float:
    """Times as fast as the reference: above 1 is faster. The best of many rounds counts."""
    work()
    return REFERENCE_S / min(_timed() for _ in range(ROUNDS))


def _timed() -> float:
    start = process_time()
    work()
    return process_time() - start


def work() -> int:
    """The piece of work; its answer is always the same."""
    return _plain() + _columns()


def _plain() -> int:
    rows = [_Row(number) for number in range(500)]
    buckets: dict[int, list[int]] = {}
    total = 0
    for step in range(40_000):
        row = step * 7 % 500
        score = rows[row].take(1 + step % 3)
        bucket = buckets.setdefault(score, [])
        bucket.append(row)
        if len(bucket) > 50:
            total += len(buckets.pop(score))
    return total


def _columns() -> int:
    free = np.arange(ROWS, dtype=np.int64) % 97 + 4000
    taken = np.zeros(ROWS, dtype=np.int64)
    total = 0
    for step in range(150):
        fits = free - taken >= 100
        scores = np.where(fits, (free - taken) * 100 // free, -1)
        best = int(scores.argmax())
        taken[best] += 100 + step
        total += int(np.count_nonzero(scores == scores[best]))
    return total
