"""How many connections there are: few to who answers at once, many to who is far away or slow."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube.virtual_time import in_virtual_time
from mooring.kube.http.bandwidth import Line
from mooring.kube.http.connection_count import AHEAD, ENOUGH, Width
from mooring.kube.http.short_requests import Connections

ASK = b"POST /x HTTP/1.1\r\nHost: here\r\n\r\n"
PROBE = b"GET /version HTTP/1.1\r\nHost: here\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
REFUSED = b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 2\r\n\r\nno"
LEAST, MOST, CALLERS = 8, 100, 200  # callers: fewer than may be under way when they are many


class Answering:
    """Takes `answer_s` for each request of a connection, one after the other; `at_once` in all. The way there
    and back takes `away_s`, for all that is sent in one write. What only asks whether somebody is there may
    take as long."""

    def __init__(
        self, answer_s: float, at_once: int = 1_000_000, away_s: float = 0.0, *, always: bool = False
    ) -> None:
        self.away_s = away_s
        self.always = always
        self.answer_s, self.free = answer_s, asyncio.Semaphore(at_once)
        self.under_way = self.most_under_way = self.connections = 0
        self.bears = 1_000_000

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                if head.startswith(b"GET") and not self.always:
                    self.send(writer, OK)
                    continue
                self.under_way += 1
                self.most_under_way = max(self.most_under_way, self.under_way)
                refuses = self.under_way > self.bears
                async with self.free:
                    await asyncio.sleep(0.1 if refuses else self.answer_s)
                self.under_way -= 1
                self.send(writer, REFUSED if refuses else OK)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.connections -= 1
            writer.close()

    def send(self, writer: asyncio.StreamWriter, answer: bytes) -> None:
        asyncio.get_running_loop().call_later(self.away_s, writer.write, answer)


def played(server: Answering, seconds: float) -> tuple[int, int, list[int]]:
    """Answers in so many seconds, connections at the end, and what was told of their number."""

    async def play() -> tuple[int, int, list[int]]:
        listening, told = await asyncio.start_server(server, "127.0.0.1", 0), list[int]()
        port = listening.sockets[0].getsockname()[1]
        connections = Connections(
            "127.0.0.1",
            port,
            None,
            limit=LEAST,
            most=MOST,
            probe=PROBE,
            on_width=told.append,
        )
        await connections.warm(2)
        answers = 0

        async def call() -> None:
            nonlocal answers
            while True:
                await connections.exchange(ASK, 1000.0)
                answers += 1

        callers = [asyncio.create_task(call()) for _ in range(CALLERS)]
        await asyncio.sleep(seconds)
        found = answers, server.connections, told
        for caller in callers:
            caller.cancel()
        await asyncio.gather(*callers, return_exceptions=True)
        await connections.close()
        listening.close()
        await asyncio.sleep(60.0)  # in no time: what the server still has to answer
        return found

    return in_virtual_time(play())


def test_who_answers_at_once_is_asked_over_few() -> None:
    _, connections, told = played(Answering(0.001), 0.5)
    assert connections == LEAST
    assert told == []


@pytest.mark.parametrize("answer_s", [0.2, 1.0])
def test_who_is_slow_is_asked_over_many(answer_s: float) -> None:
    """A webhook: each takes its time, however many there are."""
    answers, connections, told = played(Answering(answer_s), 20.0)
    assert connections == MOST
    assert told == [AHEAD * MOST]
    assert answers > 0.8 * MOST * 20.0 / answer_s


def test_who_is_slow_whatever_it_is_asked_is_found_out() -> None:
    """At first that looks like a long way."""
    answers, _, told = played(Answering(0.2, always=True), 20.0)
    assert max(told) == AHEAD * MOST
    assert answers > 0.6 * MOST * 20.0 / 0.2


def test_who_is_far_away_is_asked_over_many() -> None:
    answers, connections, told = played(Answering(0.0, away_s=0.05), 10.0)
    assert told[-1] / AHEAD == pytest.approx(ENOUGH * 0.05, rel=0.2)
    assert connections == pytest.approx(told[-1] / AHEAD, rel=0.2)
    assert answers > 0.6 * connections * 10.0 / 0.05  # they are gathered meanwhile


def test_who_answers_no_more_for_it_is_not_asked_over_many() -> None:
    """A server that does so many at a time and no more: asking it more often makes it slower for all."""
    _, _, told = played(Answering(0.2, at_once=LEAST), 60.0)
    assert told[:2] == [AHEAD * MOST, AHEAD * LEAST]


def test_a_busy_server_is_not_asked_over_more() -> None:
    """What it takes for an answer is no reason for connections that only wait for each other, and cost it a
    handshake each."""
    width = Width(32, 512)
    width.measured(0.002)
    now = 0.0
    for _ in range(400):  # 32 connections, 500 answers a second in all
        now += 0.002
        width.answered(32 * 0.002, now)
        width.waited(now)
    assert width.now == 32
    assert width.is_settled
    slow = Width(32, 512)
    slow.measured(0.002)
    slow.answered(0.2, 1.0)
    assert slow.waited(1.0)
    assert slow.now == pytest.approx(ENOUGH * 0.2, abs=2)


def test_who_is_quick_now_and_then_is_busy_and_no_webhook() -> None:
    """However long its answers take otherwise: a machine with too much to do."""
    width = Width(16, 512)
    width.measured(0.002)
    now = 0.0
    for number in range(1000):
        now += 0.02
        width.answered(0.01 if number % 100 == 0 else 0.4, now)
        width.waited(now)
    assert width.now == 16
    grown = False
    for _ in range(1500):  # now each takes its time
        now += 0.02
        grown |= width.answered(0.4, now)
        grown |= width.waited(now)
    assert grown


def test_who_says_that_it_is_too_much_is_asked_less() -> None:
    server = Answering(0.2)
    server.bears = MOST // 2
    _, _, told = played(server, 3.0)
    assert told[:2] == [AHEAD * MOST, AHEAD * MOST // 2]


def grown() -> Width:
    """To a server half a second away; requests have had to wait, so more connections are opened."""
    width = Width(LEAST, MOST)
    width.measured(0.5)
    assert width.waited(now=1.0)
    assert width.now == MOST
    return width


def test_a_thin_line_is_not_filled_with_handshakes() -> None:
    """It is full of answers and events; more connections would bring nothing else."""
    line = Line()
    line.carried(250_000, 1.0, packed=True)
    width = Width(LEAST, MOST, line)
    width.measured(0.5)
    assert not width.waited(now=1.0)
    assert width.now == LEAST
    line.carried(5_000_000, 1.0, packed=True)  # a thick one after all
    width = Width(LEAST, MOST, line)
    width.measured(0.5)
    assert width.waited(now=1.0)


def answer(width: Width, rate: float, *, since: float, until: float, opening: bool = False) -> bool:
    """Answers come evenly, and requests wait all the time. Whether anything has changed."""
    changes = False
    for number in range(1, int(rate * (until - since)) + 1):
        width.waited(since + number / rate)
        changes |= width.answered(0.5, since + number / rate, opening=opening)
    return changes


def test_what_new_connections_bring_is_judged_once_they_are_open() -> None:
    """To open one takes three times the way there and back."""
    width = grown()
    assert not answer(width, LEAST / 0.5, since=1.0, until=3.5, opening=True)
    assert not answer(width, MOST / 0.5, since=3.5, until=8.0)
    assert width.now == MOST


@given(st.lists(st.tuples(st.sampled_from("awr"), st.floats(0.0001, 30.0), st.floats(0.0, 60.0))))
def test_it_stays_within_bounds(steps: list[tuple[str, float, float]]) -> None:
    width, now = Width(LEAST, MOST), 1000.0
    for what, took_s, passed_s in steps:
        now += passed_s
        before = width.now
        if what == "w":
            width.waited(now)
        else:
            changed = width.answered(took_s, now) if what == "a" else width.refused(now)
            assert changed == (width.now != before)
        assert 1 <= width.now <= MOST


def test_what_is_only_read_tells_nothing_of_writes() -> None:
    """Reading is quick, also where a webhook is asked before each write."""

    async def play() -> tuple[bool, float]:
        listening = await asyncio.start_server(Answering(1.0), "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        connections = Connections("127.0.0.1", port, None, limit=LEAST, most=MOST)
        await asyncio.gather(*(connections.exchange(PROBE, 10.0) for _ in range(LEAST)))
        was_known = connections._width.is_known
        await connections.exchange(ASK, 10.0)
        found = was_known, connections._width.service_s
        await connections.close()
        listening.close()
        await asyncio.sleep(1.0)  # in no time: the server hears that nobody is there
        return found

    was_known, service_s = in_virtual_time(play())
    assert not was_known
    assert service_s == pytest.approx(1.0, abs=0.1)
