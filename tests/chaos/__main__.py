"""`make chaos`: schedulers with leader election under random faults on a real control plane.

python -m tests.chaos                       twenty minutes
python -m tests.chaos --minutes 3 --seed 7  shorter, and the same faults and pods every time
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

import click

sys.path.insert(0, str(Path(__file__).parents[1]))  # as pytest does for the tests

from chaos.plan import make_plan
from chaos.run import Result, run
from e2e import binaries

NEEDED = ("etcd", "kube-apiserver", "kubectl")
SEEDS = 2**31


@click.command()
@click.option("--minutes", type=click.FloatRange(min=0.2), default=20.0, show_default=True)
@click.option("--seed", type=int, help="What was told of another run. [default: another one each time]")
@click.option("--replicas", type=click.IntRange(1), default=3, show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print what came of it as one JSON object.")
@click.option("--keep", type=click.Path(path_type=Path), help="A folder for logs that is not removed.")
def main(minutes: float, seed: int | None, replicas: int, as_json: bool, keep: Path | None) -> None:
    """Exit code 0: everything held."""
    try:
        binaries.build(NEEDED)
    except binaries.CannotBuild as error:
        click.echo(error, err=True)
        sys.exit(2)
    plan = make_plan(random.SystemRandom().randrange(SEEDS) if seed is None else seed, minutes, replicas)
    again = f"python -m tests.chaos --minutes {minutes:g} --replicas {replicas} --seed {plan.seed}"
    say(f"again: {again}")
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        result = run(plan, keep, say)
    else:
        with tempfile.TemporaryDirectory(prefix="mooring-chaos-") as folder:
            result = run(plan, Path(folder), say)
    if as_json:
        click.echo(json.dumps(asdict(result)))
    else:
        click.echo(told(result))
    sys.exit(1 if result.wrong else 0)


def told(result: Result) -> str:
    faults = ", ".join(f"{count} {kind}" for kind, count in sorted(result.faults.items()))
    lines = [
        f"{result.seconds:.0f} s; {faults}",
        f"{result.made} pods made, {result.bound} bound ({result.bound / max(result.made, 1):.0%})",
        f"schedulers started {result.starts} times; {result.leases_lost} ended since they lost the lease",
        f"at rest after {', '.join(f'{each:g} s' for each in result.settled_seconds)}",
        *(result.wrong or ["nothing wrong"]),
    ]
    return "\n".join(lines)


def say(line: str) -> None:
    click.echo(line, err=True)


if __name__ == "__main__":
    main()
