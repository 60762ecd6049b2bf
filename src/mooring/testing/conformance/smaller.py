"""Makes a case smaller for as long as it finds the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from mooring.testing.conformance.cases import Draft, Step
from mooring.testing.conformance.findings import Finding

MOST_STEPS = 1200  # to be played in all
Case = list[Step]
Play = Callable[[Sequence[Step]], Finding | None]


def smallest(steps: Case, found: Finding, play: Play) -> tuple[Case, Finding]:
    """The smallest case within reach, and what it finds."""
    budget = MOST_STEPS
    improved = True
    while improved:
        improved = False
        for candidate in _smaller(steps):
            budget -= len(candidate) + 1
            if budget < 0:
                return steps, found
            again = play(candidate)
            if again is not None and (again.kind, again.point) == (found.kind, found.point):
                steps, found, improved = candidate, again, True
                break
    return steps, found


def _smaller(steps: Case) -> Iterator[Case]:
    size = len(steps) // 2
    while size:  # halves, quarters, ... single steps
        for start in range(len(steps) - size, -1, -size):
            yield steps[:start] + steps[start + size :]
        size //= 2
    for index, step in enumerate(steps):
        for simpler in _simpler(step):
            yield [*steps[:index], simpler, *steps[index + 1 :]]


def _simpler(step: Step) -> Iterator[Step]:
    if len(step.drafts) > 1:
        yield step._replace(drafts=step.drafts[:1])
        yield step._replace(drafts=step.drafts[len(step.drafts) // 2 :])
        yield step._replace(drafts=step.drafts[1:])
    if step.amount > 3 and step.what in ("run", "retry"):
        yield step._replace(amount=step.amount // 2)
    for plainer in zip(*map(_plainer, step.drafts), strict=False):  # pods that come together are alike
        yield step._replace(drafts=plainer)


def _plainer(draft: Draft) -> Iterator[Draft]:
    if len(draft.calls) > 2:
        half = len(draft.calls) // 2
        yield draft._replace(calls=draft.calls[:half])
        yield draft._replace(calls=draft.calls[half:])
    for index in range(len(draft.calls)):
        yield draft._replace(calls=draft.calls[:index] + draft.calls[index + 1 :])
    if draft.space != "default":
        yield draft._replace(space="default")
