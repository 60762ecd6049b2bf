"""The piece of work the machine is measured by stays the same."""

from __future__ import annotations

import pytest

from mooring.bench import machine


def test_the_work_is_the_same_every_time() -> None:
    assert machine.work() == machine.work() == 778_707


def test_speed_is_the_reference_to_the_best_round(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = iter([9.0, 2 * machine.REFERENCE_S, *[5.0] * (machine.ROUNDS - 2)])
    monkeypatch.setattr(machine, "_timed", lambda: next(rounds))
    assert machine.speed() == pytest.approx(0.5)
