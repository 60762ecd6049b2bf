"""What the garbage collector is told."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from mooring.kube.garbage_collection import MIDDLE, OLD, YOUNG, settle


@pytest.fixture
def _collector() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


@pytest.mark.usefixtures("_collector")
def test_what_is_there_is_not_looked_at_again() -> None:
    kept = [[number] for number in range(1000)]
    settle()
    assert gc.get_threshold() == (YOUNG, MIDDLE, OLD)
    assert gc.get_freeze_count() > len(kept)
    assert not any(each is kept for each in gc.get_objects())
