"""Runs policies for a command: what they print stays out of its answer; one that hangs is named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import click

from mooring.app.printing import printed_elsewhere
from mooring.app.watchdog import LIMIT_S, Watchdog
from mooring.app.whereabouts import Policies
from mooring.cli.progress import progress_bar
from mooring.errors import PolicyHangs


class Update(Protocol):
    """Moves the progress bar on."""

    def __call__(self, *, completed: float, total: float | None = None) -> None: ...


@contextmanager
def watched(policies: Path | None, work: str, *, bar_shown: bool = True) -> Iterator[Update]:
    """Shows a progress bar with the name of the work; tells at the end what policies did besides."""
    own = Policies([f"{policies.absolute()}/"] if policies else ())
    with (
        printed_elsewhere() as printing,
        Watchdog(own, limit_s=LIMIT_S, raises=PolicyHangs),
        progress_bar(shown=bar_shown) as bar,
    ):
        task = bar.add_task(work, total=None)

        def update(*, completed: float, total: float | None = None) -> None:
            bar.update(task, completed=completed, total=total)

        yield update
    for remark in printing.remarks():
        click.echo(f"note: {remark}", err=True)
