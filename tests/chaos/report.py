"""What came of it, for people and for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict

import click
from rich.console import Console
from rich.table import Table

from chaos.gaps import Gap, rows
from chaos.run import Result
from chaos.schedulers import KUBE_SCHEDULER, MOORING

WIDTH = 120  # where nobody looks


def of_run(result: Result) -> str:
    faults = ", ".join(f"{count} {kind}" for kind, count in sorted(result.faults.items()))
    lines = [
        f"{result.seconds:.0f} s; {faults}",
        f"{result.made} pods made, {result.bound} bound: {result.share:.0%} of those that went or were bound",
        f"schedulers started {result.starts} times; {result.leases_lost} ended since they lost the lease",
        f"at rest after {', '.join(f'{each:g} s' for each in result.settled_seconds)}",
        *(result.wrong or ["nothing wrong"]),
    ]
    return "\n".join(lines)


def of_gaps(gaps: Sequence[Gap]) -> Table:
    table = Table(title="seconds without a bind: medians, and the worst")
    table.add_column("failure")
    for column in (KUBE_SCHEDULER, MOORING, "ratio", f"{KUBE_SCHEDULER}, worst", f"{MOORING}, worst"):
        table.add_column(column, justify="right")
    table.add_column("")
    for row in rows(gaps):
        figures = (row.theirs, row.ours, row.ours / max(row.theirs, 0.01), row.theirs_worst, row.ours_worst)
        table.add_row(
            row.failure, *(f"{figure:.1f}" for figure in figures), "" if row.is_fine else "too long"
        )
    return table


def of_shares(shares: dict[str, Result]) -> str:
    return "\n".join(
        f"{program}: {each.share:.0%} of {each.made} pods bound before they went; {len(each.wrong)} wrong"
        for program, each in shares.items()
    )


def show(shown: str | Table) -> None:
    if isinstance(shown, str):
        click.echo(shown)
    else:
        Console(width=None if sys.stdout.isatty() else WIDTH).print(shown)


def as_json(found: Result | Sequence[Gap] | dict[str, Result]) -> str:
    if isinstance(found, Result):
        return json.dumps(asdict(found))
    if isinstance(found, dict):
        return json.dumps({program: asdict(each) for program, each in found.items()})
    return json.dumps([asdict(each) for each in found])
