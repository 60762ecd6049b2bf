"""pytest fixtures: `make_cluster` builds worlds and checks every invariant when the test is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest


@pytest.fixture
def make_cluster() -> Iterator[Callable[..., object]]:
    """Like `mooring.testing.cluster`, with a check of all invariants on leaving."""
    from mooring.testing.world import World, cluster

    worlds: list[World] = []

    def make(*things: object, **options: object) -> World:
        worlds.append(cluster(*things, **options))  # type: ignore[arg-type]
        return worlds[-1]

    yield make
    for world in worlds:
        world.check()
