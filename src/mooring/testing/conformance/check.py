"""From a policy to the smallest case in which it breaks a promise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mooring.framework.api.plugin import Plugin
from mooring.testing.builders import NodeBuilder, PodBuilder
from mooring.testing.conformance import findings
from mooring.testing.conformance.cases import Drawing, Step
from mooring.testing.conformance.findings import Broken, ConformanceError, Finding
from mooring.testing.conformance.play import Player
from mooring.testing.conformance.smaller import smallest
from mooring.testing.conformance.subject import Subject
from mooring.testing.conformance.untried import untried

ROUNDS = 30
REPEATED = 3  # rounds that are played again when all others have been
NUMBERS_ONLY = ("0", "2")  # for policies that read numbers where other words make them raise

Log = list[tuple[Any, ...]]


def check_conformance(
    policy: type[Plugin],
    *,
    args: Mapping[str, object] | None = None,
    rounds: int = ROUNDS,
    seed: int = 0,
    examples: Sequence[NodeBuilder | PodBuilder] = (),
) -> None:
    """Raises ConformanceError if the policy breaks a promise on random clusters: with the point, the smallest
    case found and what to do. `examples` are pods and nodes without which it has little to say."""
    check = _Check(Subject(policy, args or {}), tuple(examples))
    for number in range(seed, seed + rounds):
        check.play(number)
    check.look_back(rounds)


class _Check:
    def __init__(self, subject: Subject, examples: Sequence[NodeBuilder | PodBuilder]) -> None:
        self._subject = subject
        self._examples = examples
        self._played_first: list[tuple[list[Step], int, Log]] = []

    def play(self, seed: int) -> None:
        """One round. What is found is found again in fewer steps, and told."""
        steps = Drawing(seed, self._subject.vocabulary, self._examples).case()
        found, log = self._played(steps, seed)
        if found is not None and self._wants_numbers(found):
            self._subject.vocabulary.plain = NUMBERS_ONLY
            self._subject.vocabulary.words = ()
            return self.play(seed)
        if found is not None:
            self._tell(*smallest(steps, found, lambda fewer: self._played(fewer, seed)[0]), seed)
        if len(self._played_first) < REPEATED:
            self._played_first.append((steps, seed, log))
        return None

    def look_back(self, rounds: int) -> None:
        """Runs that do not repeat; points that were never asked, or always said the same."""
        for steps, seed, log in self._played_first:
            self._repeat(steps, seed, log)
        if rounds >= ROUNDS and (found := untried(self._subject, rounds)) is not None:
            self._tell([], found, None)

    def _played(self, steps: Sequence[Step], seed: int) -> tuple[Finding | None, Log]:
        player = Player(self._subject, seed)
        try:
            player.play(steps)
        except Broken as broken:
            return broken.finding, player.log
        return None, player.log

    def _wants_numbers(self, found: Finding) -> bool:
        """Whether it raises for no other reason than that a made-up word is no number."""
        words = (*self._subject.vocabulary.plain, *self._subject.vocabulary.words, "true")
        made_up = self._subject.vocabulary.plain is not NUMBERS_ONLY and found.kind == "fails"
        return made_up and "ValueError" in found.what and any(repr(word) in found.what for word in words)

    def _repeat(self, steps: Sequence[Step], seed: int, log: Log) -> None:
        found, again = self._played(steps, seed)
        if found is not None:
            self._tell(steps, found, seed)
        for first, second in zip(log, again, strict=False):
            if first != second:
                what = f"decides {first} in one run, and {second} in the same run again"
                self._tell([], Finding("repeats", "the whole run", what, findings.REPEATS), seed)

    def _tell(self, steps: Sequence[Step], found: Finding, seed: int | None) -> None:
        policy = self._subject.policy
        case = "".join(f"\n    {step}" for step in steps)
        shown = f"\n  the smallest case found (rounds=1, seed={seed}):{case}" if steps else ""
        raise ConformanceError(
            f"{policy.name} breaks its promise (scope {policy.scope.name}) at {found.text}{shown}"
        )
