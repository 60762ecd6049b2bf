"""Which part of the pods is bound before they go, while schedulers and the API server are killed.

Both programs get the same plan: in five minutes 33 kills of schedulers and 10 of the API server.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from chaos.plan import APISERVER, KILL, Often, make_plan
from chaos.run import Result, Say, run
from chaos.schedulers import KUBE_SCHEDULER, MOORING, SHORT, alike

MINUTES = 5.0
REPLICAS = 2
OFTEN = {KILL: Often(33 / MINUTES), APISERVER: Often(10 / MINUTES, 0.0, 5.0)}


def measure(seed: int, minutes: float, folder: Path, say: Say) -> dict[str, Result]:
    """By program. What it says is wrong of kube-scheduler is told and nothing more."""
    plan = make_plan(seed, minutes, REPLICAS, OFTEN, plain=True)
    found = {}
    for program in (KUBE_SCHEDULER, MOORING):
        place = folder / program
        place.mkdir(parents=True)
        found[program] = run(plan, place, partial(tell, say, program), partial(alike, program, SHORT))
    return found


def tell(say: Say, program: str, line: str) -> None:
    say(f"{program}: {line}")
