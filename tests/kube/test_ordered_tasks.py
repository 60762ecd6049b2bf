"""The pool: so many at a time, in order for each object, urgent things first, nothing left behind."""

from __future__ import annotations

import asyncio
from typing import Any

from kube.virtual_time import in_virtual_time
from mooring.kube.perform.ordered_tasks import TURNS, Pool


class Bench:
    """A pool, and a log of what was done in it."""

    def __init__(self, limit: int) -> None:
        self.pool = Pool(limit)
        self.log: list[Any] = []
        self.most = self.busy = 0

    async def work(self, subject: Any) -> None:
        self.busy += 1
        self.most = max(self.most, self.busy)
        self.log.append(subject)
        await asyncio.sleep(1.0)
        self.busy -= 1


def test_at_most_so_many_and_in_order_for_each() -> None:
    async def run() -> None:
        bench = Bench(3)
        for number in range(12):
            bench.pool.submit(f"k{number % 4}", bench.work, (number % 4, number))
        assert len(bench.pool) == 4
        await bench.pool.idle()
        assert bench.most == 3
        for key in range(4):
            assert [number for of, number in bench.log if of == key] == [key, key + 4, key + 8]
        assert len(bench.pool) == 0

    in_virtual_time(run())


def test_urgent_lines_start_first_but_not_always() -> None:
    async def run() -> None:
        bench = Bench(1)
        bench.pool.submit("first", bench.work, "first")
        bench.pool.submit("slow", bench.work, "slow", urgent=False)
        for number in range(20):
            bench.pool.submit(f"u{number}", bench.work, number)
        await bench.pool.idle()
        assert 0 < bench.log.index("slow") <= TURNS
        assert bench.log.index("slow") > 3

    in_virtual_time(run())


def test_what_is_urgent_hurries_its_line() -> None:
    async def run() -> None:
        bench = Bench(1)
        bench.pool.submit("first", bench.work, "first")
        for name in ("x", "y", "z"):
            bench.pool.submit(name, bench.work, name, urgent=False)
        bench.pool.submit("z", bench.work, "z now")
        assert bench.pool.superseded("z")
        await bench.pool.idle()
        assert bench.log == ["first", "z", "z now", "x", "y"]

    in_virtual_time(run())


def test_work_that_raises_holds_nobody_up(caplog: Any) -> None:
    async def bad(subject: Any) -> None:
        raise RuntimeError("oops")

    async def run() -> None:
        bench = Bench(1)
        bench.pool.submit("a", bad, None)
        bench.pool.submit("a", bench.work, "after")
        await bench.pool.idle()
        assert bench.log == ["after"]

    in_virtual_time(run())
    assert "oops" in caplog.text


def test_dropping_returns_what_was_not_begun() -> None:
    async def run() -> None:
        bench = Bench(2)
        for name in ("a", "a", "b", "c"):
            bench.pool.submit(name, bench.work, name)
        await asyncio.sleep(0.5)
        assert sorted(job.subject for job in bench.pool.drop()) == ["a", "c"]
        await bench.pool.cancelled()
        await bench.pool.idle()
        assert bench.log == ["a", "b"]
        bench.pool.submit("d", bench.work, "d")  # its places are free again
        await bench.pool.idle()
        assert bench.log[-1] == "d"

    in_virtual_time(run())


def test_dropping_before_anything_ran() -> None:
    async def run() -> None:
        bench = Bench(2)
        for name in ("a", "b", "c"):
            bench.pool.submit(name, bench.work, name)
        assert len(bench.pool.drop()) == 3
        await bench.pool.idle()
        await asyncio.sleep(5.0)
        assert bench.log == []
        for name in ("a", "b"):
            bench.pool.submit(name, bench.work, name)
        await bench.pool.idle()
        assert bench.most == 2

    in_virtual_time(run())


def test_who_is_parked_takes_no_place() -> None:
    async def run() -> None:
        bench = Bench(1)

        async def parking(subject: Any) -> None:
            with bench.pool.parked():
                await asyncio.sleep(100.0)
            bench.log.append("back")

        bench.pool.submit("p", parking, None)
        bench.pool.submit("a", bench.work, "a")
        await bench.pool.idle()
        assert bench.log == ["a", "back"]

    in_virtual_time(run())


def test_one_task_works_off_what_waits() -> None:
    async def run() -> None:
        bench, tasks = Bench(2), set[Any]()

        async def work(subject: Any) -> None:
            tasks.add(asyncio.current_task())
            await bench.work(subject)

        for number in range(20):
            bench.pool.submit(f"k{number}", work, number)
        await bench.pool.idle()
        assert sorted(bench.log) == list(range(20))
        assert (len(tasks), bench.most) == (2, 2)

    in_virtual_time(run())


def test_a_task_that_is_cancelled_leaves_its_place_to_others() -> None:
    async def run() -> None:
        bench = Bench(1)
        for name in ("a", "b", "c"):
            bench.pool.submit(name, bench.work, name)
        await asyncio.sleep(0.5)
        line = bench.pool.line("a")
        assert line is not None
        assert line.task is not None
        line.task.cancel()
        await bench.pool.idle()
        assert bench.log == ["a", "b", "c"]

    in_virtual_time(run())


def test_lines_start_when_there_is_room_again() -> None:
    async def run() -> None:
        bench, room = Bench(5), 0
        bench.pool = Pool(5, lambda: room)
        for name in ("a", "b", "c"):
            bench.pool.submit(name, bench.work, name)
        await asyncio.sleep(0.5)
        assert bench.log == []
        room = 2
        bench.pool.start_soon()
        await asyncio.sleep(0.5)
        assert bench.log == ["a", "b"]
        await bench.pool.idle()
        assert bench.log == ["a", "b", "c"]

    in_virtual_time(run())
