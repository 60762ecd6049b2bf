"""A view that is old: deciding pauses, says so, and goes on when it is caught up with."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from app.test_driver import Desk
from kube.virtual_time import in_virtual_time
from mooring.app.lookout import LOOK_S, STALE_AFTER_S, TOLD_AT_ONCE, Lookout
from mooring.engine.decisions import Bind, Wait
from mooring.engine.events import NodeAdded
from mooring.kube.resources import NODES, PODS, Resource
from mooring.testing.builders import node


class Sight:
    """Informers as a lookout sees them: how old each view is, and when it is caught up with."""

    def __init__(self) -> None:
        self.old: dict[Resource, float] = {}
        self.is_in_touch = True
        self.asked: list[tuple[Resource, ...]] = []
        self.caught_up = asyncio.Event()
        self.caught_up.set()

    def age(self, resource: Resource) -> float:
        return self.old.get(resource, 0.0)

    async def catch_up(self, *kinds: Resource) -> None:
        self.asked.append(kinds)
        await self.caught_up.wait()


class Watch:
    """A lookout over a driver that decides."""

    def __init__(self) -> None:
        self.desk, self.sight = Desk(), Sight()
        self.told: list[Wait] = []
        self.may_write = True
        driver = self.desk.driver
        driver.tell(NodeAdded(node("n").has(cpu=100, pods=10_000).build()))
        driver.start()
        self.lookout = Lookout(
            self.sight,  # type: ignore[arg-type]
            driver,
            self.told.append,
            may_write=lambda: self.may_write,
        )
        self.tasks = [asyncio.ensure_future(each) for each in (self.lookout.run(), driver.run())]

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.desk.driver.engine.check()

    async def looks(self, times: int = 1) -> None:
        await asyncio.sleep(times * LOOK_S + 0.1)

    def binds(self) -> int:
        return sum(isinstance(each, Bind) for each in self.desk.done)


def watching(work: Callable[[Watch], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        watch = Watch()
        try:
            await work(watch)
        finally:
            await watch.stop()

    in_virtual_time(run())


@pytest.mark.parametrize("kind", [PODS, NODES], ids=lambda kind: kind.plural)
def test_nothing_is_decided_while_pods_or_nodes_are_not_followed(kind: Resource) -> None:
    async def work(watch: Watch) -> None:
        watch.sight.old[kind] = STALE_AFTER_S + 2
        await watch.looks()
        watch.desk.tell_pods(3)
        await watch.looks(10)
        assert watch.binds() == 0
        assert watch.lookout.failing == f"scheduling is paused: {kind.plural} have not been followed for 7 s"
        watch.sight.old[kind] = 0.0
        await watch.looks()
        assert watch.binds() == 3
        assert watch.lookout.failing == ""
        assert watch.sight.asked == [(PODS, NODES)]

    watching(work)


def test_a_short_gap_stops_nothing() -> None:
    async def work(watch: Watch) -> None:
        watch.sight.old[PODS] = STALE_AFTER_S - 1
        await watch.looks(3)
        watch.desk.tell_pods(3)
        await watch.looks(1)
        assert watch.binds() == 3
        assert watch.told == []

    watching(work)


def test_it_goes_on_only_when_all_that_happened_is_known() -> None:
    async def work(watch: Watch) -> None:
        watch.sight.old[PODS] = STALE_AFTER_S + 1
        await watch.looks()
        watch.desk.tell_pods(1)
        watch.sight.caught_up.clear()
        watch.sight.old[PODS] = 0.0
        await watch.looks(20)
        assert watch.binds() == 0
        assert watch.lookout.failing
        watch.sight.caught_up.set()
        await watch.looks()
        assert watch.binds() == 1

    watching(work)


def test_it_is_said_once_and_on_the_pods_that_wait(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    async def work(watch: Watch) -> None:
        watch.sight.old[PODS] = STALE_AFTER_S + 1
        await watch.looks()
        watch.desk.tell_pods(2)
        await watch.looks(20)
        assert sorted(wait.pod.name for wait in watch.told) == ["p0", "p1"]
        assert {(wait.reason, wait.message) for wait in watch.told} == {
            ("SchedulerError", "scheduling is paused: pods have not been followed for 6 s")
        }
        watch.sight.old[PODS] = 0.0
        await watch.looks(5)
        said = [record.getMessage() for record in caplog.records]
        assert said == [
            "scheduling is paused: pods have not been followed for 6 s",
            "scheduling goes on: pods and nodes are followed again",
        ]

    watching(work)


def test_however_many_wait_all_are_told_bit_by_bit() -> None:
    async def work(watch: Watch) -> None:
        watch.sight.old[PODS] = STALE_AFTER_S + 1
        await watch.looks()
        watch.desk.tell_pods(TOLD_AT_ONCE * 3)
        await watch.desk.driver.caught_up()
        await watch.looks()
        assert 0 < len(watch.told) < TOLD_AT_ONCE * 3
        await watch.looks(10)
        assert len(watch.told) == TOLD_AT_ONCE * 3

    watching(work)


@pytest.mark.parametrize("what", ["is out of touch", "may not write"])
def test_what_cannot_be_written_is_not_tried(what: str) -> None:
    async def work(watch: Watch) -> None:
        watch.sight.is_in_touch = what != "is out of touch"
        watch.may_write = what != "may not write"
        watch.sight.old[PODS] = STALE_AFTER_S + 1
        await watch.looks()
        watch.desk.tell_pods(2)
        await watch.looks(10)
        assert watch.told == []

    watching(work)
