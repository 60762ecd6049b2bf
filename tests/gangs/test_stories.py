"""Whoever asks why, whenever and about whom: nothing is changed by it, and nothing is decided otherwise."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.stage import HEADER
from gangs.shared_world import CONFIG, PROFILES, REGISTRY, SharedWorld
from gangs.test_forks import picture
from gangs.test_gang_properties import Step
from gangs.test_shared_things import MORE, live, step
from mooring import Handle, Plugin, Pod, unschedulable
from mooring.config.load import load_config
from mooring.engine.decisions import Decision
from mooring.engine.recording.entries import encode


class Moody(Plugin):
    """Says something else each time: it counts how often it is asked, and draws lots."""

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self.asked = 0

    def filter(self, cycle: Any, pod: Pod, node: Any) -> Any:
        return None if self._mood() % 9 else unschedulable("not in the mood")

    def score(self, cycle: Any, pod: Pod, node: Any) -> int:
        return self._mood() % 101

    def _mood(self) -> int:
        self.asked += 1
        return self.asked + self.handle.random.randrange(50)


REGISTRY.add(Moody, trusted=True)
ENABLED = ("[{name: Licensed}, {name: Moody}]", "[{name: Licensed}]")
PLANS = (
    f"- schedulerName: {name}\n  plugins: {{multiPoint: {{enabled: {enabled}}}}}\n"
    for name, enabled in zip(PROFILES, ENABLED, strict=True)
)
MOODY = load_config(f"{HEADER}profiles:\n{''.join(PLANS)}", "config.yaml", REGISTRY)


class TrailWorld(SharedWorld):
    """Leaves a trail: what is decided, and all there is after it."""

    config = MOODY

    def __init__(self, seed: int) -> None:
        self.trail: list[tuple[bytes, Any]] = []
        super().__init__(seed)

    def swap(self, which: int) -> None:
        """Policies come and go."""
        plans = (MOODY, CONFIG)[which].profiles
        self._take(self.engine.swap(self.engine.table(plans, REGISTRY), self.now))

    def _take(self, decisions: list[Decision]) -> None:
        self.trail.append((encode(decisions), self.state()))
        super()._take(decisions)

    def state(self) -> Any:
        """All that later decisions may depend on, and what they cost."""
        engine, cluster = self.engine, self.engine.cluster
        nodes, counts = cluster.nodes, cluster.counts
        positions = cluster.history.position, nodes.journal.position, nodes.node_journal.position
        plugins = [p.asked for p in engine.hooks.plugins() if isinstance(p, Moody)]
        versions = counts.version, counts.recounts, cluster.labelsets.version, cluster.pods.shared
        return picture(engine), positions, versions, plugins, engine._rng.getstate()


class AskedWorld(TrailWorld):
    """Somebody asks about some pods after each decision."""

    def __init__(self, seed: int) -> None:
        self.asker = random.Random(seed)
        self.told = 0  # stories, in full
        super().__init__(seed)

    def _take(self, decisions: list[Decision]) -> None:
        for uid in self.asker.sample(sorted(self.pods), min(2, len(self.pods))):
            story = self.engine.story(self.pods[uid].key)
            self.told += story is not None and story.nodes > 0
        super()._take(decisions)


STEPS = st.one_of(step(), step(), step(), st.tuples(st.just("swap"), st.tuples(st.integers(0, 1))))


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 999), st.lists(STEPS, max_size=20))
def test_who_asks_changes_nothing(seed: int, steps: list[Step]) -> None:
    assert live(AskedWorld(seed), steps).trail == live(TrailWorld(seed), steps).trail


def test_enough_is_told() -> None:
    told = 0
    for seed in range(4):
        rng = random.Random(seed)
        names = [name for name, (often, _) in MORE.items() for _ in range(often)]
        drawn = [rng.choice(names) for _ in range(30)]
        steps = [(name, tuple(rng.randrange(limit) for limit in MORE[name][1])) for name in drawn]
        asked = live(AskedWorld(seed), steps)
        told += asked.told
        assert asked.trail == live(TrailWorld(seed), steps).trail
    assert told > 100
