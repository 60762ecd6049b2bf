"""Strict and NonStrict: what a member without a place means for the others."""

from __future__ import annotations

import pytest

from mooring.testing import cluster, node, pod
from mooring.testing.builders import PodBuilder

PREFIX = "gang.scheduling.koordinator.sh/"


def member(name: str, cpu: int, mode: str) -> PodBuilder:
    notes = {"name": "train", "min-available": "2", "mode": mode}
    built = pod(name).requests(cpu=cpu)
    for key, value in notes.items():
        built = built.annotation(PREFIX + key, value)
    return built


@pytest.mark.parametrize(("mode", "placed"), [("Strict", []), ("NonStrict", ["default/b", "default/c"])])
def test_a_member_without_a_place_before_there_are_enough(mode: str, placed: list[str]) -> None:
    world = cluster(node("n").has(cpu=4))
    world.add(member("a", 9, mode), member("b", 1, mode), member("c", 1, mode))
    world.run()
    assert sorted(world.placements) == placed
    if not placed:
        assert world.message(member("b", 1, mode)).startswith(
            "gang default/train: 2 of 3 can be placed, and it starts with all of them or none; 1 lacks cpu"
        )


@pytest.mark.parametrize("mode", ["Strict", "NonStrict"])
def test_a_member_without_a_place_after_there_are_enough(mode: str) -> None:
    world = cluster(node("n").has(cpu=4))
    world.add(member("a", 1, mode), member("b", 1, mode), member("c", 9, mode))
    world.run()
    assert sorted(world.placements) == ["default/a", "default/b"]
