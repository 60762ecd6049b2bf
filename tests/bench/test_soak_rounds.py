"""`make soak` plays rounds of new seeds until its time is used up, and says how to repeat one that failed."""

from __future__ import annotations

import pytest

import soaking
from soak import EXAMPLES, EXAMPLES_A_ROUND, Wanted, soak, wanted


class Rounds:
    """Each takes ten seconds; the one of a certain seed fails."""

    def __init__(self, failing: int | None = None) -> None:
        self.played: list[tuple[int, int]] = []
        self.said: list[str] = []
        self.failing = failing

    def play(self, seed: int, examples: int) -> int:
        self.played.append((seed, examples))
        return 3 if seed == self.failing else 0

    def soak(self, want: Wanted) -> int:
        return soak(want, self.play, lambda: 10.0 * len(self.played), self.said.append)


def test_one_round_without_a_time() -> None:
    rounds = Rounds()
    assert rounds.soak(Wanted(2000, None, 7)) == 0
    assert rounds.played == [(7, 2000)]


def test_rounds_until_the_time_is_used_up_each_with_a_seed_of_its_own() -> None:
    rounds = Rounds()
    assert rounds.soak(Wanted(100, 25.0, 7)) == 0
    assert rounds.played == [(7, 100), (107, 100), (207, 100)]
    assert [line for line in rounds.said if "seed" in line] == [
        "round 1: seed 7, 100 examples, 0 s of CPU used",
        "round 2: seed 107, 100 examples, 10 s of CPU used",
        "round 3: seed 207, 100 examples, 20 s of CPU used",
    ]


def test_a_round_that_fails_is_the_last_and_tells_how_to_repeat_it() -> None:
    rounds = Rounds(failing=107)
    assert rounds.soak(Wanted(100, 1000.0, 7)) == 3
    assert len(rounds.played) == 2
    assert rounds.said[-1] == "failed; again: make soak SOAK_SEED=107 SOAK_EXAMPLES=100"


def test_what_is_wanted() -> None:
    assert wanted({"SOAK_SEED": "5"}) == Wanted(EXAMPLES, None, 5)
    assert wanted({"SOAK_SEED": "5", "SOAK_EXAMPLES": "", "SOAK_CPU_SECONDS": ""}) == Wanted(
        EXAMPLES, None, 5
    )
    assert wanted({"SOAK_SEED": "5", "SOAK_CPU_SECONDS": "60"}) == Wanted(EXAMPLES_A_ROUND, 60.0, 5)
    assert wanted({"SOAK_EXAMPLES": "9", "SOAK_CPU_SECONDS": "60"}).examples == 9
    assert len({wanted({}).seed for _ in range(5)}) > 1


def test_seeds_of_rounds_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soaking, "EXAMPLES", 100)
    seen: set[int] = set()
    for seed in (7, 107, 207):
        monkeypatch.setattr(soaking, "SEED", seed)
        seen.update(soaking.soak_seeds(600))
    assert len(seen) == 300
    assert min(seen) >= 600


@pytest.mark.parametrize("name", ["SOAK_CPU_SECONDS", "SOAK_EXAMPLES", "SOAK_SEED"])
@pytest.mark.parametrize("word", ["an hour", "-1", "1.5"])
def test_a_mistyped_number_is_told(name: str, word: str) -> None:
    with pytest.raises(SystemExit, match=f"{name}={word} is not a whole number"):
        wanted({name: word})
