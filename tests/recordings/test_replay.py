"""The same events at the same times give the same decisions, byte for byte, after a way through bytes."""

from __future__ import annotations

import random

import pytest

from gangs.world import CONFIG, REGISTRY, World, random_steps
from mooring.app.making import make_engine
from mooring.engine.decisions import Bind
from mooring.engine.engine import Engine
from mooring.engine.events import NodeAdded, PodAdded
from mooring.engine.recording.entries import Told, Turn, decode, encode
from mooring.engine.recording.recorded_engine import RecordedEngine
from mooring.engine.recording.replay import Replayed, replay

LIVES = 200
STEPS = 25


class RecordedWorld(World):
    """Each scheduler that lives in it is recorded, as bytes, with its seed."""

    def __init__(self, seed: int) -> None:
        self.lives: list[tuple[int, list[bytes]]] = []
        super().__init__(seed)

    def _start(self) -> Engine:
        seed = self.random.randrange(1000)
        entries: list[bytes] = []
        self.lives.append((seed, entries))
        engine = make_engine(CONFIG, REGISTRY, seed=seed, kind=RecordedEngine)
        assert isinstance(engine, RecordedEngine)
        engine.record = lambda entry: entries.append(encode(entry))
        for each in self.nodes.values():
            engine.handle(NodeAdded(each), self.now)
        for known in sorted(self.pods.values(), key=lambda known: known.uid):
            engine.handle(PodAdded(known), self.now)
        return engine


def lived(seed: int) -> RecordedWorld:
    """A life of nodes, gangs and pods that come and go, binds that fail, and schedulers that die."""
    world, draw = RecordedWorld(seed), random.Random(seed)
    for _ in range(3):
        world.add_node(draw.randint(2, 8))
    steps = random_steps(world, draw)
    steps.insert(3, lambda: world.add_member(draw.randrange(9)))
    for _ in range(STEPS):
        draw.choices(steps, (2, 1, 4, 2, 4, 2, 8, 6, 3, 0.5))[0]()
    return world


@pytest.mark.parametrize("start", range(0, LIVES, 50))
def test_a_life_that_is_lived_again_is_the_same(start: int) -> None:
    binds = others = 0
    for number in range(start, start + 50):
        for seed, entries in lived(number).lives:
            so_far = Replayed()
            fresh = make_engine(CONFIG, REGISTRY, seed=seed)
            assert list(replay(map(decode, entries), fresh, so_far)) == [], number
            assert so_far.entries == len(entries)
            binds += so_far.binds
            others += len(entries)
    assert binds > 200  # enough has happened for this to mean something
    assert others > 2000


def test_an_entry_is_the_same_after_a_way_through_bytes() -> None:
    (_, entries), *_ = lived(7).lives
    kinds = {type(decode(each)) for each in entries}
    assert kinds == {Told, Turn}
    assert all(encode(decode(each)) == each for each in entries)


def test_a_scheduler_that_decides_otherwise_is_found_out() -> None:
    """Ties are drawn: with another seed some pod goes elsewhere, and the entry is named."""
    found = 0
    for number in range(20):
        for seed, entries in lived(number).lives:
            so_far = Replayed()
            for difference in replay(
                map(decode, entries), make_engine(CONFIG, REGISTRY, seed=seed + 1), so_far
            ):
                found += 1
                recorded = decode(entries[difference.entry - 1])
                assert isinstance(recorded, Told | Turn)
                assert recorded.decided == difference.recorded != difference.replayed
                break
    assert found > 5


def test_a_bind_that_is_read_again_says_whose_it_is() -> None:
    (_, entries), *_ = lived(3).lives
    made = [each for entry in map(decode, entries) for each in getattr(entry, "decided", None) or ()]
    binds = [each for each in made if isinstance(each, Bind)]
    assert {bind.profile for bind in binds} == {"default-scheduler"}
    assert len({bind.attempt for bind in binds}) == len(binds)
