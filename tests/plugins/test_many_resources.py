"""Pods that want more resources than a number has bits are told what they lack."""

from __future__ import annotations

import pytest

from engine.stage import BUILT_IN, Stage, node, pod
from mooring.framework.api.answers import MOST_REASONS


@pytest.mark.parametrize("count", [60, 61, 62, 63, MOST_REASONS])
def test_pods_may_want_more_resources_than_a_number_has_bits(count: int) -> None:
    wanted = {f"example.com/r{number:02}": "1" for number in range(count)}
    some = dict(list(wanted.items())[::2])
    stage = Stage(base=BUILT_IN).nodes(node("some", extra=some), node("none"))
    said = stage.wait(pod("p", extra=wanted)).message
    assert said.startswith("0/2 nodes are available: 1 Insufficient example.com/r00, ")
    assert (said.count(" 1 Insufficient"), said.count("Insufficient")) == (len(some), count)
