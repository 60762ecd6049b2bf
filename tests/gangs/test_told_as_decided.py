"""Stories in random lives, with gangs, nominations and sessions: they say what was decided, and by what."""

from __future__ import annotations

import random

import pytest

from gangs.test_session_lives import STEPS, SessionWorld
from gangs.world import random_steps
from mooring.engine.decisions import Bind, Decision

LIVES = 24


class ToldWorld(SessionWorld):
    """Asks why each pod is where it is, as soon as that is decided."""

    def __init__(self, seed: int) -> None:
        self.told = self.members = 0
        super().__init__(seed)

    def _take(self, decisions: list[Decision]) -> None:
        for bind in decisions:
            if isinstance(bind, Bind):
                self._ask(bind)
        super()._take(decisions)

    def _ask(self, bind: Bind) -> None:
        story = self.engine.story(bind.pod.key, 100)
        assert story is not None
        assert (story.node, bool(story.nodes)) == (bind.node, True), story
        scores = self.engine.scores.get(bind.pod.key)
        if scores is None or story.remarks:
            return
        self.told += 1
        self.members += bind.pod.name.startswith("g")
        assert {each.node: each.total for each in story.best} == scores, story
        assert story.feasible == len(scores)


@pytest.mark.parametrize("start", range(0, LIVES, 12))
def test_totals_are_told_as_they_were(start: int) -> None:
    told = members = 0
    for seed in range(start, start + 12):
        world, draw = ToldWorld(seed), random.Random(seed)
        for _ in range(3):
            world.add_node(draw.randint(2, 8))
        steps = random_steps(world, draw, members=4, cpu=3)
        for _ in range(STEPS):
            draw.choices(steps, (2, 1, 4, 4, 3, 8, 6, 3, 0.5))[0]()
        told += world.told
        members += world.members
    assert told > 80
    assert members > 40  # enough has happened for this to mean something
