"""The run on a real control plane is collected only when asked for by its path; the rest needs nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

REAL = Path(__file__).with_name("test_real.py")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    asked = (Path(word.partition("::")[0]).resolve() for word in config.args)
    return True if collection_path == REAL and REAL not in asked else None
