"""What is said while the suite runs: which spec it is at, and what came of it on the same line."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import click

from conformance.results import STARTED, Lines, Result, title
from e2e.process import Process

LOOK_EVERY_SECONDS = 0.5


@dataclass
class Progress:
    scheduler: str
    count: int
    number: int = 0

    def say(self, result: Result) -> None:
        if result.state == STARTED:
            self.number += 1
            where = f"{self.scheduler} {self.number}/{self.count}"
            click.echo(f"{where} {title(result.name)} ... ", nl=False, err=True)
        else:
            click.echo(f"{result.state}, {result.seconds:.0f} s", err=True)


def follow(
    suite: Process,
    scheduler: Process,
    lines: Lines,
    progress: Progress,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Result]:
    """Every result, as it comes, until the suite ends. Without a scheduler every spec left would wait its
    minutes for nothing, so that one that ended is the end of it."""
    goes_on = True
    while goes_on:
        goes_on = suite.is_running() and scheduler.is_running()
        for each in lines.new():
            progress.say(each)
            yield each
        if goes_on:
            sleep(LOOK_EVERY_SECONDS)
    if not scheduler.is_running():
        click.echo(
            f"\n{scheduler.name} ended with code {scheduler.exit_code()}:\n{scheduler.tail()}", err=True
        )
