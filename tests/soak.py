"""`make soak` and `make fuzz`: long random runs, in rounds of new seeds.

    python tests/soak.py                                 one round of SOAK_EXAMPLES examples, or 2000
    python tests/soak.py tests/fuzz                      only the tests below a folder
    SOAK_CPU_SECONDS=3600 python tests/soak.py           rounds until they have used an hour of processor time
    SOAK_SEED=17 SOAK_EXAMPLES=200 python tests/soak.py  the round that was told with seed 17, once more

Every round says its seed first. The first round that fails is the last, and is told with how to repeat it.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXAMPLES, EXAMPLES_A_ROUND = 2000, 200  # of the only round; of many, so that they are minutes, not an hour
SEEDS = 2**31


@dataclass(frozen=True)
class Wanted:
    """How much: examples in a round, and processor seconds in all. Without them there is one round."""

    examples: int
    cpu_seconds: float | None
    seed: int


Round = Callable[[int, int], int]  # seed and examples in, exit code out


def wanted(said: Mapping[str, str]) -> Wanted:
    limit = number(said, "SOAK_CPU_SECONDS")
    usual = EXAMPLES if limit is None else EXAMPLES_A_ROUND
    seed = number(said, "SOAK_SEED")
    return Wanted(
        examples=number(said, "SOAK_EXAMPLES") or usual,
        cpu_seconds=limit,
        seed=random.SystemRandom().randrange(SEEDS) if seed is None else seed,
    )


def number(said: Mapping[str, str], name: str) -> int | None:
    """What a variable says; None when it says nothing."""
    word = said.get(name, "")
    if word and not word.isdecimal():
        raise SystemExit(f"{name}={word} is not a whole number; for example: make soak {name}=3600")
    return int(word) if word else None


def soak(want: Wanted, play: Round, cpu_used: Callable[[], float], say: Callable[[str], None]) -> int:
    """Rounds until one fails or the time is used up. The next seed is beyond all of the round before."""
    seed, number = want.seed, 1
    while True:
        say(f"round {number}: seed {seed}, {want.examples} examples, {cpu_used():.0f} s of CPU used")
        code = play(seed, want.examples)
        if code:
            say(f"failed; again: make soak SOAK_SEED={seed} SOAK_EXAMPLES={want.examples}")
            return code
        if want.cpu_seconds is None or cpu_used() >= want.cpu_seconds:
            say(f"done: {number} rounds, {cpu_used():.0f} s of CPU")
            return 0
        seed, number = seed + want.examples, number + 1


def rounds_of(folder: str) -> Round:
    """Plays the long tests below a folder."""

    def play(seed: int, examples: int) -> int:
        words = [sys.executable, "-m", "pytest", folder, "-m", "soak", f"--hypothesis-seed={seed}"]
        told = {"MOORING_SOAK_SEED": str(seed), "MOORING_SOAK_EXAMPLES": str(examples)}
        return subprocess.run(words, cwd=ROOT, env=os.environ | told, check=False).returncode

    return play


def cpu_of_rounds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def say_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    chosen = sys.argv[1] if len(sys.argv) > 1 else "tests"
    sys.exit(soak(wanted(os.environ), rounds_of(chosen), cpu_of_rounds, say_line))
