"""`make chaos`: schedulers with leader election under random faults on a real control plane.

    python -m tests.chaos                       twenty minutes of everything; what must hold is checked
    python -m tests.chaos --minutes 3 --seed 7  shorter, and the same faults and pods every time
    python -m tests.chaos --gaps                how long nobody is bound after each kind of failure
    python -m tests.chaos --share               which part of the pods is bound while much is killed

Exit code 0: everything held, and Mooring was no slower than kube-scheduler.
"""

from __future__ import annotations

import random
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does for the tests

from chaos import gaps, report, share
from chaos.plan import make_plan
from chaos.run import run
from chaos.schedulers import KUBE_SCHEDULER, MOORING
from e2e import binaries

NEEDED = ("etcd", "kube-apiserver", "kubectl")
SEEDS = 2**31
MINUTES = 20.0
LOST = 0.03  # of the pods, for the luck of who is killed when


@click.command()
@click.option("--minutes", type=click.FloatRange(min=0.2), help="[default: 20; with --share 5]")
@click.option("--seed", type=int, help="What was told of another run. [default: another one each time]")
@click.option("--replicas", type=click.IntRange(1), default=3, show_default=True)
@click.option("--gaps", "only_gaps", is_flag=True, help="Both schedulers by turns, one failure at a time.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="Turns with --gaps.")
@click.option(
    "--failure", "kinds", multiple=True, type=click.Choice([each.kind for each in gaps.FAILURES]),
    help="Only these, with --gaps.",
)  # fmt: skip
@click.option("--share", "only_share", is_flag=True, help="Both schedulers, with much killed.")
@click.option("--json", "as_json", is_flag=True, help="Print what came of it as JSON.")
@click.option("--keep", type=click.Path(path_type=Path), help="A new folder for the logs.")
def main(
    minutes: float | None,
    seed: int | None,
    replicas: int,
    only_gaps: bool,
    rounds: int,
    kinds: tuple[str, ...],
    only_share: bool,
    as_json: bool,
    keep: Path | None,
) -> None:
    """Everything dies at random, and what must hold is checked."""
    compared = only_gaps or only_share
    try:
        binaries.build((*NEEDED, "kube-scheduler") if compared else NEEDED)
    except binaries.CannotBuild as error:
        click.echo(error, err=True)
        sys.exit(2)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what was started is ended
    chosen = random.SystemRandom().randrange(SEEDS) if seed is None else seed
    with logs(keep) as folder:
        if only_gaps:
            found = gaps.measure(folder, rounds, kinds, say)
            told, good = report.of_gaps(found), gaps.is_fine(found, kinds)
        elif only_share:
            say(f"seed {chosen}")
            found = share.measure(chosen, minutes or share.MINUTES, folder, say)
            told, good = report.of_shares(found), found[MOORING].share >= found[KUBE_SCHEDULER].share - LOST
        else:
            say(f"seed {chosen}")
            found = run(make_plan(chosen, minutes or MINUTES, replicas), folder, say)
            told, good = report.of_run(found), not found.wrong
    if as_json:
        click.echo(report.as_json(found))
    else:
        report.show(told)
    sys.exit(0 if good else 1)


@contextmanager
def logs(keep: Path | None) -> Iterator[Path]:
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="mooring-chaos-") as folder:
            yield Path(folder)
    else:
        keep.mkdir(parents=True)
        yield keep


def say(line: str) -> None:
    click.echo(line, err=True)


if __name__ == "__main__":
    main()
