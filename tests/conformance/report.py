"""What came of the specs, scheduler beside scheduler: a table, JSON, and whether all passed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import msgspec
from rich.table import Table

from conformance.results import NEVER_ENDED, STARTED, Result, title

WHY_LINES = 10
Outcomes = Mapping[str, Mapping[str, Result]]  # by scheduler, then by the name of the spec


def outcomes(names: Iterable[str], told: Iterable[Result]) -> dict[str, Result]:
    """What is known of each spec; one that did not end says so."""
    ended = {each.name: each for each in told if each.state != STARTED}
    return {name: ended.get(name) or Result(name, NEVER_ENDED) for name in names}


def all_passed(found: Outcomes) -> bool:
    """Nothing failed, was skipped or did not end, and something ran."""
    every = [each for of_one in found.values() for each in of_one.values()]
    return bool(every) and all(each.passed for each in every)


def table(found: Outcomes) -> Table:
    made = Table(title="Kubernetes' own end-to-end suite for scheduling")
    made.add_column("spec")
    for scheduler in found:
        made.add_column(scheduler)
        made.add_column("seconds", justify="right")
    for name in next(iter(found.values())):
        made.add_row(title(name), *(cell for of_one in found.values() for cell in cells(of_one[name])))
    made.add_section()
    made.add_row("passed", *(cell for of_one in found.values() for cell in totals(of_one)))
    return made


def cells(result: Result) -> tuple[str, str]:
    return result.state, f"{result.seconds:.0f}"


def totals(of_one: Mapping[str, Result]) -> tuple[str, str]:
    passed = sum(each.passed for each in of_one.values())
    return f"{passed} of {len(of_one)}", f"{sum(each.seconds for each in of_one.values()):.0f}"


def as_json(found: Outcomes) -> str:
    rows = [
        {"scheduler": scheduler, **msgspec.to_builtins(each)}
        for scheduler, of_one in found.items()
        for each in of_one.values()
    ]
    return json.dumps(rows)


def failures(found: Outcomes) -> str:
    """The beginning of why, for each that did not pass; the suite's log has it whole."""
    return "\n".join(
        "\n".join([f"{scheduler}: {title(each.name)}: {each.state}", *each.failure.splitlines()[:WHY_LINES]])
        for scheduler, of_one in found.items()
        for each in of_one.values()
        if not each.passed
    )
