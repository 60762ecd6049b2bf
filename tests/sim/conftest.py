from __future__ import annotations

import io
from collections.abc import Callable
from textwrap import dedent

import pytest

from mooring.sim.clock import Clock
from mooring.sim.manifests.manifests import Entry, read_manifests
from mooring.sim.world.world import World

Read = Callable[[str], tuple[Entry, ...]]


def read(text: str) -> tuple[Entry, ...]:
    """The objects of a manifest, given as text; fields that decide nothing in a test may be missing."""
    return read_manifests(["-"], stdin=io.StringIO(dedent(text)), lenient=True)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def world(clock: Clock) -> World:
    return World(clock)
