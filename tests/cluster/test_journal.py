"""The journal: what changed since, or that it is forgotten."""

from __future__ import annotations

import pytest

from mooring.cluster import journal as module
from mooring.cluster.journal import Journal


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> Journal:
    """A journal that keeps at least 4 entries."""
    monkeypatch.setattr(module, "KEEP", 4)
    return Journal()


def test_rows_since_a_position_come_in_order_with_repetitions() -> None:
    journal = Journal()
    journal.write(3)
    start = journal.position
    for row in (1, 2, 1):
        journal.write(row)
    assert journal.since(start) == [1, 2, 1]
    assert journal.since(0) == [3, 1, 2, 1]
    assert journal.since(journal.position) == []


def test_positions_only_grow_when_old_entries_go(short: Journal) -> None:
    positions = []
    for row in range(30):
        short.write(row)
        positions.append(short.position)
    assert positions == list(range(1, 31))
    assert len(short.rows) <= 2 * 4


def test_a_reader_that_fell_behind_is_told_to_start_over(short: Journal) -> None:
    for row in range(9):
        short.write(row)
    assert short.since(3) is None
    assert short.since(4) == [4, 5, 6, 7, 8]


def test_nothing_is_forgotten_before_there_is_twice_as_much(short: Journal) -> None:
    for row in range(8):
        short.write(row)
    assert short.since(0) == list(range(8))


def test_a_reader_that_keeps_up_misses_nothing(short: Journal) -> None:
    position, seen = 0, []
    for row in range(50):
        short.write(row)
        if row % 3 == 0:
            seen += short.since(position) or []
            position = short.position
    assert seen == list(range(49))
