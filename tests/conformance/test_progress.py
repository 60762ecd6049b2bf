from __future__ import annotations

from pathlib import Path

import pytest

from conformance.progress import Progress, follow
from conformance.results import Lines, Result
from e2e.process import Process


class Played(Process):
    """A process that runs until it is told that it ended."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(name, [], folder / f"{name}.log")
        self.code: int | None = None

    def is_running(self) -> bool:
        return self.code is None

    def exit_code(self) -> int | None:
        return self.code


@pytest.fixture
def suite(tmp_path: Path) -> Played:
    return Played("the suite", tmp_path)


@pytest.fixture
def scheduler(tmp_path: Path) -> Played:
    return Played("mooring", tmp_path)


def test_results_are_said_as_they_come_until_the_suite_ends(
    suite: Played, scheduler: Played, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = tmp_path / "results.jsonl"
    pieces = iter(['{"name": "[x] one", "state": "started"}\n', '{"name": "[x] one", "state": "passed"}\n'])

    def one_more_line(seconds: float) -> None:
        with told.open("a") as file:
            file.write(next(pieces))
        suite.code = 0 if told.read_text().count("\n") == 2 else None  # it ends with its last word

    found = follow(suite, scheduler, Lines(told), Progress("mooring", 7), one_more_line)
    assert list(found) == [Result("[x] one", "started"), Result("[x] one", "passed")]
    assert capsys.readouterr().err == "mooring 1/7 one ... passed, 0 s\n"


def test_a_scheduler_that_ended_is_the_end_and_says_its_last_words(
    suite: Played, scheduler: Played, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scheduler.log.write_text("out of memory")

    def dies(seconds: float) -> None:
        scheduler.code = 137

    assert list(follow(suite, scheduler, Lines(tmp_path / "none"), Progress("mooring", 7), dies)) == []
    assert suite.is_running()
    assert "mooring ended with code 137:\nout of memory" in capsys.readouterr().err
