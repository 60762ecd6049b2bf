"""Three minutes of chaos on a real control plane, the same every time; `make chaos` is the long form."""

from __future__ import annotations

from pathlib import Path

import pytest

from chaos.plan import make_plan
from chaos.run import run
from e2e import binaries

SEED = 14


def test_three_minutes(tmp_path: Path) -> None:
    try:
        result = run(make_plan(SEED, minutes=3, replicas=3), tmp_path, print)
    except binaries.CannotBuild as error:
        pytest.exit(str(error), returncode=2)
    assert not result.wrong, "\n".join(result.wrong)
    assert result.bound
