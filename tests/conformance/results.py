"""What the suite tells of its specs, a line each, while it runs."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

STARTED, PASSED, NEVER_ENDED = "started", "passed", "never ended"
TAG = re.compile(r"\s*\[[^\]]*\]")  # [sig-scheduling], [Serial], [Conformance], [Feature:...]


class Result(msgspec.Struct, frozen=True):
    """A spec that started or ended. States are Ginkgo's: passed, failed, skipped, panicked, timedout, ..."""

    name: str
    state: str
    seconds: float = 0.0
    failure: str = ""

    @property
    def passed(self) -> bool:
        return self.state == PASSED


class Lines:
    """A file of results that grows: each line is read once, when it is whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.position = 0

    def new(self) -> list[Result]:
        if not self.path.exists():
            return []
        with self.path.open("rb") as file:
            file.seek(self.position)
            whole = file.read().rpartition(b"\n")[0]
        if not whole:
            return []
        self.position += len(whole) + 1
        return [msgspec.json.decode(line, type=Result) for line in whole.splitlines()]


def title(name: str) -> str:
    """A spec's name without its tags."""
    return TAG.sub("", name).strip()
