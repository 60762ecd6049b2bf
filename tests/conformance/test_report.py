from __future__ import annotations

import json

import pytest
from rich.console import Console

from conformance.report import all_passed, as_json, failures, outcomes, table
from conformance.results import Result

PASSED = Result("[x] one", "passed", 12.3)
SKIPPED = Result("[x] two", "skipped", 0.1, "needs two zones")


def test_a_spec_that_did_not_end_says_so() -> None:
    told = [Result("[x] one", "started"), PASSED, Result("[x] two", "started")]
    assert outcomes(["[x] one", "[x] two"], told) == {
        "[x] one": PASSED,
        "[x] two": Result("[x] two", "never ended"),
    }


def test_a_spec_nobody_asked_for_is_left_out() -> None:
    assert outcomes([], [PASSED]) == {}


@pytest.mark.parametrize("state", ["failed", "skipped", "never ended", "timedout", "panicked"])
def test_one_that_did_not_pass_spoils_all(state: str) -> None:
    assert all_passed({"mooring": {"one": PASSED}})
    assert not all_passed({"mooring": {"one": PASSED}, "kube-scheduler": {"one": Result("one", state)}})


def test_nothing_at_all_is_not_all_passed() -> None:
    assert not all_passed({})
    assert not all_passed({"mooring": {}})


def test_the_table_has_a_row_a_spec_and_the_sums() -> None:
    found = {
        "mooring": {"[x] one": PASSED, "[x] two": SKIPPED},
        "kube-scheduler": {"[x] one": PASSED, "[x] two": Result("[x] two", "passed", 20.0)},
    }
    console = Console(width=100, record=True, file=None, quiet=False)
    with console.capture() as printed:
        console.print(table(found))
    rows = [
        [cell.strip() for cell in row.strip("│┃").replace("┃", "│").split("│")]
        for row in printed.get().splitlines()
        if row[:1] in "│┃"
    ]
    assert rows == [
        ["spec", "mooring", "seconds", "kube-scheduler", "seconds"],
        ["one", "passed", "12", "passed", "12"],
        ["two", "skipped", "0", "passed", "20"],
        ["passed", "1 of 2", "12", "2 of 2", "32"],
    ]


def test_json_has_every_result_with_its_scheduler() -> None:
    assert json.loads(as_json({"mooring": {"[x] two": SKIPPED}})) == [
        {
            "scheduler": "mooring",
            "name": "[x] two",
            "state": "skipped",
            "seconds": 0.1,
            "failure": "needs two zones",
        }
    ]


def test_failures_say_why() -> None:
    found = {"mooring": {"[x] one": PASSED, "[x] two": SKIPPED}}
    assert failures(found) == "mooring: two: skipped\nneeds two zones"


def test_a_long_reason_is_cut() -> None:
    found = {"mooring": {"one": Result("one", "failed", 1.0, "a line\n" * 500)}}
    assert len(failures(found).splitlines()) == 11
