"""A book that failed is made anew, also where little happens."""

from __future__ import annotations

from typing import Any

from mooring import Book, Plugin, Pod, StaticNode
from mooring.testing import cluster, node, pod


def test_a_book_that_failed_is_read_again_however_little_happens() -> None:
    class Apps(Book[str, int]):
        def added(self, pod: Pod, node: StaticNode) -> None:
            self.add(pod.labels.get("app", ""), 1)

        def removed(self, pod: Pod, node: StaticNode) -> None:
            self.add(pod.labels["app"], -1)  # fails for a pod without the label

    class Reads(Plugin):
        def __init__(self, args: Any, handle: Any) -> None:
            super().__init__(args, handle)
            self._apps = handle.book(Apps)

        def filter(self, cycle: Any, pod: Pod, node: Any) -> None:
            self._apps.count("x")

    world = cluster(node("n").has(cpu=64), policies=[Reads])
    for number in range(20):
        assert world.schedule(pod(f"p{number}").label("app", "a"))
    for number in range(2):
        world.schedule(pod(f"t{number}"))
        world.remove(pod(f"t{number}"))
    victim = pod("v").label("app", "a")
    world.schedule(victim)
    world.advance(120)
    assert world.placements.get("default/v") == "n"
