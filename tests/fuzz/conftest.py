"""With many examples to play, every test here is one of `make soak` and `make fuzz`."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.fuzzing import IS_LONG

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items if IS_LONG else ():
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.soak)
