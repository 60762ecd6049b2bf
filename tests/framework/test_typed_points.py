"""The types that editors and mypy see are those of the points there are."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

from mooring.framework.api.plugin import Plugin
from mooring.framework.api.points import POINTS
from mooring.framework.api.typed_points import Points

WRONG = """
from mooring import Cycle, Node, Plugin, Pod, Status


class Late(Plugin):
    def filter(self, cycle: Cycle, pod: Pod, node: str) -> Status | None:
        return None

    async def permit(self, cycle: Cycle, pod: Pod, node_name: str) -> Status | None:
        return None

    async def pre_bind(self, cycle: Cycle, pod: Pod, node_name: str) -> Status | None:
        return None

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 1
"""


@pytest.mark.parametrize("name", POINTS)
def test_a_point_has_types(name: str) -> None:
    if name == "normalize":  # a function of its own, or a method
        assert name in Points.__annotations__
        return
    parameters = list(inspect.signature(getattr(Points, name)).parameters)
    assert parameters == ["self", *POINTS[name].parameters]


def test_nothing_else_has() -> None:
    assert {name for name in vars(Points) if not name.startswith("_")} <= set(POINTS)


def test_a_plugin_has_no_point_that_it_does_not_write() -> None:
    assert not any(hasattr(Plugin, name) for name in POINTS)


def test_mypy_finds_what_is_written_wrong(tmp_path: Path) -> None:
    policy = tmp_path / "late.py"
    policy.write_text(WRONG)
    words = [sys.executable, "-m", "mypy", "--no-incremental", "--follow-imports=silent", str(policy)]
    found = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    lines = {int(line.split(":")[1]) for line in found.splitlines() if ": error:" in line}
    assert lines == {6, 9}, found
