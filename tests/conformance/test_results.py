from __future__ import annotations

import json
from pathlib import Path

from conformance.results import Lines, Result, title

NAME = "[sig-scheduling] SchedulerPredicates [Serial] validates taints [Conformance]"


def line(state: str) -> str:
    return json.dumps({"name": NAME, "state": state, "seconds": 1.5, "failure": ""}) + "\n"


def test_nothing_is_told_before_the_suite_starts(tmp_path: Path) -> None:
    assert Lines(tmp_path / "none.jsonl").new() == []


def test_each_line_is_read_once_and_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    lines = Lines(path)
    ended = line("passed")
    path.write_text(line("started") + ended[:20])
    assert [each.state for each in lines.new()] == ["started"]
    assert lines.new() == []
    path.write_text(line("started") + ended)
    assert lines.new() == [Result(NAME, "passed", 1.5)]
    assert lines.new() == []


def test_what_has_other_letters_is_read_by_bytes(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    lines = Lines(path)
    path.write_text('{"name": "größer", "state": "failed", "failure": "a\\nb\u2028c"}\n', "utf-8")
    assert lines.new() == [Result("größer", "failed", 0.0, "a\nb\u2028c")]
    with path.open("a") as file:
        file.write(line("passed"))
    assert [each.name for each in lines.new()] == [NAME]


def test_a_title_has_no_tags() -> None:
    assert title(NAME) == "SchedulerPredicates validates taints"
    assert title("[sig-scheduling] A [Feature:B] [FeatureGate:B] [Beta]") == "A"


def test_only_passed_is_passed() -> None:
    for state in (
        "started",
        "failed",
        "skipped",
        "panicked",
        "timedout",
        "pending",
        "interrupted",
        "aborted",
    ):
        assert not Result("one", state).passed
    assert Result("one", "passed").passed
