"""Every test of these plugins runs twice: asking afresh, and by what is kept."""

from __future__ import annotations

import pytest


@pytest.fixture(params=[False, True], ids=["fresh", "kept"])
def kept(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)
