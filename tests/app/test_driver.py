"""The driver: events in, decisions out, in slices, on a clock that the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from kube.virtual_time import in_virtual_time
from mooring.app.driver import AHEAD, BUSY, Driver
from mooring.engine.decisions import Bind, Decision, Refuse, Wait
from mooring.engine.engine import Engine
from mooring.engine.events import NodeAdded, PodAdded
from mooring.plugins.catalogue import plans_with
from mooring.testing.builders import node, pod


class Time:
    """A clock on which every look takes a while."""

    def __init__(self, step: float = 0.0) -> None:
        self.now, self.step = 1000.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


class Desk:
    """A driver with what it passed on."""

    def __init__(self, step: float = 0.0, slice_s: float = 0.002) -> None:
        plans, registry = plans_with((), {}, {})
        self.done: list[Decision] = []
        self.waiting = 0
        self.time = Time(step)
        self.driver = Driver(
            Engine(plans, registry),
            self.done.append,
            clock=self.time,
            in_flight=lambda: self.waiting,
            slice_s=slice_s,
        )

    def tell_pods(self, count: int) -> None:
        for number in range(count):
            self.driver.tell(PodAdded(pod(f"p{number}").requests(cpu="1m").build()))


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.driver.engine.check()


def test_nothing_is_decided_before_the_start(desk: Desk) -> None:
    desk.driver.tell(NodeAdded(node("n").has(cpu=100, pods=1000).build()))
    desk.tell_pods(3)
    assert desk.driver.turn() is False
    assert desk.done == []
    desk.driver.start()
    desk.driver.turn()
    assert [type(decision) for decision in desk.done] == [Bind] * 3


def test_nothing_is_passed_on_after_a_halt(desk: Desk) -> None:
    desk.driver.tell(NodeAdded(node("n").has(cpu=100, pods=1000).build()))
    desk.driver.start()
    desk.driver.turn()
    desk.driver.halt()
    desk.tell_pods(2)
    assert desk.driver.turn() is False
    assert desk.done == []


def test_a_slice_ends_in_the_middle_of_the_events() -> None:
    desk = Desk(step=0.001, slice_s=0.01)
    desk.driver.tell(NodeAdded(node("n").has(cpu=100, pods=1000).build()))
    desk.tell_pods(50)
    turns = 1
    while desk.driver.turn():
        turns += 1
    assert turns > 3
    assert len(desk.driver.engine.queue) == 50


def test_a_slice_ends_in_the_middle_of_the_queue() -> None:
    desk = Desk(slice_s=0.01)
    desk.driver.tell(NodeAdded(node("n").has(cpu=100, pods=1000).build()))
    desk.tell_pods(50)
    desk.driver.turn()
    desk.time.step = 0.001
    desk.driver.start()
    assert desk.driver.turn() is True
    assert 0 < len(desk.done) < 50
    while desk.driver.turn():
        pass
    assert len(desk.done) == 50


def test_work_ahead_waits_while_much_is_being_carried_out(desk: Desk) -> None:
    nodes = (node(f"n{number}").has(cpu=1, pods=10).build() for number in range(300))
    for each in nodes:  # so many that preemption works them out ahead, some at a time
        desk.driver.tell(NodeAdded(each))
    desk.driver.start()
    desk.waiting = BUSY
    assert desk.driver.turn() is False
    desk.waiting = BUSY - 1
    assert desk.driver.turn() is True


def turns_taken(waiting: int) -> int:
    """How many turns work takes that comes a bit at a time, every millisecond for 100 ms."""

    async def told() -> int:
        desk, turns = Desk(), 0
        desk.waiting = waiting
        turn = desk.driver.turn

        def counted() -> bool:
            nonlocal turns
            turns += 1
            return turn()

        desk.driver.turn = counted  # type: ignore[method-assign]
        running = asyncio.ensure_future(desk.driver.run())
        for number in range(100):
            desk.driver.tell(NodeAdded(node(f"n{number}").build()))
            await asyncio.sleep(0.001)
        running.cancel()
        return turns

    return in_virtual_time(told())


def test_a_busy_driver_takes_fewer_turns() -> None:
    assert turns_taken(BUSY) * 3 < turns_taken(BUSY - 1)


def test_deciding_pauses_while_too_much_waits_to_be_carried_out(desk: Desk) -> None:
    desk.driver.tell(NodeAdded(node("n").has(cpu=100, pods=1000).build()))
    desk.tell_pods(2)
    desk.driver.start()
    desk.waiting = AHEAD
    assert desk.driver.turn() is False
    assert desk.done == []
    desk.waiting = AHEAD - 1
    desk.driver.turn()
    assert len(desk.done) == 2


def test_time_alone_brings_a_pod_back(desk: Desk) -> None:
    desk.driver.tell(NodeAdded(node("small").has(cpu=1).build()))
    desk.driver.tell(PodAdded(pod("big").requests(cpu=4).build()))
    desk.driver.start()
    desk.driver.turn()
    assert isinstance(desk.done.pop(), Wait)
    desk.time.now += 400  # longer than a pod may be stuck
    desk.driver.turn()
    assert isinstance(desk.done.pop(), Wait)


def test_an_object_that_makes_no_sense_is_passed_over(desk: Desk) -> None:
    desk.driver.tell(NodeAdded(node("odd").has(cpu="many").build()))
    desk.driver.tell(NodeAdded(node("n").has(cpu=100, pods=1000).build()))
    desk.tell_pods(1)
    desk.driver.turn()
    assert not desk.done  # who does not lead says nothing
    desk.driver.start()
    desk.driver.turn()
    told, bind = desk.done
    assert isinstance(told, Refuse)
    assert told.about.metadata.name == "odd"
    assert isinstance(bind, Bind)
    assert bind.node == "n"


async def test_it_sleeps_until_it_is_told_something(desk: Desk) -> None:
    desk.driver.start()
    running = asyncio.create_task(desk.driver.run())
    await desk.driver.caught_up()
    desk.driver.tell(NodeAdded(node("n").has(cpu=100, pods=1000).build()))
    desk.tell_pods(1)
    await desk.driver.caught_up()
    while not desk.done:
        await asyncio.sleep(0)
    assert isinstance(desk.done[0], Bind)
    running.cancel()


async def test_caught_up_waits_for_every_event_told_before(desk: Desk) -> None:
    running = asyncio.create_task(desk.driver.run())
    desk.driver.tell(NodeAdded(node("n").has(cpu=100, pods=1000).build()))
    desk.tell_pods(500)
    await desk.driver.caught_up()
    assert len(desk.driver.engine.queue) == 500
    running.cancel()


def test_with_nothing_to_do_it_prepares_bit_by_bit(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    left = [True, True, False]
    monkeypatch.setattr(desk.driver.engine, "catch_up", lambda: left.pop(0))
    assert desk.driver.turn() is False  # not before it decides
    assert len(left) == 3
    desk.driver.start()
    assert [desk.driver.turn() for _ in range(3)] == [True, True, False]
