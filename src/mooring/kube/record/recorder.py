"""Records Events for people to read. Never blocks or fails who records; Events are the last to be sent.

What says the same again becomes a series. While pods are being bound Events wait: those that tell of a
success longer than those that tell of trouble, or what a pod waits for, which go first. When more come than
can be sent the oldest are dropped and counted.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable

import msgspec

from mooring.errors import ApiError, Conflict, NotFound, Unreachable
from mooring.kube.client import MERGE, Client
from mooring.kube.http.call_slots import EVENT, Slots
from mooring.kube.record.event_limits import SpamFilter
from mooring.kube.record.event_series import (
    Event,
    Memory,
    Meta,
    Reference,
    Series,
    Told,
    cut_short,
    event_name,
    reference_to,
)
from mooring.kube.request_bodies import micro_timestamp
from mooring.kube.resources import EVENTS
from mooring.model.objects import Node, Object, Pod

log = logging.getLogger("mooring.kube")

SENDERS = 48  # Events are in no hurry, and leave room for others
CALLED = 2  # others that each calls who begins: all are there soon, and few when binding goes on at once
QUEUED = 50_000
PATIENCE_S = 15.0  # how long an Event lets binding go first
WARNING, SCHEDULING = "Warning", "Scheduling"  # a type, and an action: of pods that wait
WARNING_PATIENCE_S = 0.5  # somebody may be looking for the reason of a pod that waits
TRIES, RETRY_S = 12, 10.0  # client-go's, when there is no answer
HOUSEKEEPING_S = 60.0
EVERYWHERE = "default"  # the namespace of Events about objects without one

_encode = msgspec.json.Encoder().encode


class Recorder:
    """Takes Events of every profile; `host` is part of who reports them."""

    def __init__(
        self,
        client: Client,
        host: str = "",
        *,
        slots: Slots | None = None,
        senders: int = SENDERS,
        queued: int = QUEUED,
        now_ns: Callable[[], int] = time.time_ns,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.dropped = 0
        self._client = client
        self._host = host or socket.gethostname()
        self._slots = slots or Slots()
        self._senders = senders
        self._most = queued
        self._now_ns = now_ns
        self._clock = clock
        self._sleep = sleep
        self._memory = Memory()
        self._spam = SpamFilter(clock)
        self._warnings: deque[tuple[float, Told]] = deque()  # each with the moment it waits for no longer
        self._queue: deque[tuple[float, Told]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._hurry = asyncio.Event()
        self._holding_back = False  # somebody waits until binding has gone first
        self._warned = asyncio.Event()  # set when a warning comes that nobody reckons with yet

    def record(
        self,
        type_: str,
        reason: str,
        action: str,
        about: Pod | Node | Object | Reference,
        note: str,
        *,
        controller: str,
        related: Pod | Node | Object | Reference | None = None,
    ) -> None:
        """Has an Event written some time soon."""
        meta, note = about if isinstance(about, Reference) else about.metadata, cut_short(note)
        key = (reason, meta.uid or meta.name, meta.namespace, note, controller, type_)
        now_ns = self._now_ns()
        told = self._memory.find(key)
        if told is not None:
            if told.again(now_ns / 1e9):
                self._enqueue(told)
            return
        if not self._spam.lets_pass(controller, meta.uid or meta.name):
            self.dropped += 1
            return
        event = Event(
            "events.k8s.io/v1",
            "Event",
            Meta(event_name(meta.name, now_ns), meta.namespace or EVERYWHERE),
            micro_timestamp(now_ns / 1e9),
            type_,
            reason,
            action,
            note,
            controller,
            f"{controller}-{self._host}",
            reference_to(about),
            reference_to(related) if related is not None else None,
        )
        told = Told(event, now_ns / 1e9)
        self._memory.keep(key, told)
        self._enqueue(told)

    async def run(self) -> None:
        """Writes how often was told what was told again, from time to time, until it is cancelled."""
        while True:
            await self._sleep(HOUSEKEEPING_S)
            for told in self._memory.due(self._now_ns() / 1e9):
                self._enqueue(told)

    def hurry(self) -> None:
        """From now on Events let nobody go first."""
        self._hurry.set()

    async def flush(self, timeout: float) -> int:
        """Sends what is left within `timeout` seconds. Returns how much is not sent."""
        self.hurry()
        for told in self._memory.unwritten():
            self._enqueue(told)
        end = self._clock() + timeout
        while self._tasks and (left_s := end - self._clock()) > 0:
            await asyncio.wait(self._tasks, timeout=left_s)  # one that held back calls others meanwhile
        left = len(self._warnings) + len(self._queue) + len(self._tasks)
        self._warnings.clear()
        self._queue.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        return left

    def _enqueue(self, told: Told) -> None:
        if len(self._warnings) + len(self._queue) >= self._most:
            (self._queue or self._warnings).popleft()
            self.dropped += 1
        if told.event.type == WARNING or told.event.action == SCHEDULING:
            if not self._warnings:
                self._warned.set()
            self._warnings.append((self._clock() + WARNING_PATIENCE_S, told))
        else:
            self._queue.append((self._clock() + PATIENCE_S, told))
        self._start_sender()

    def _start_sender(self) -> None:
        if len(self._tasks) < self._senders and not self._holding_back:
            task = asyncio.get_running_loop().create_task(self._send_all())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _send_all(self) -> None:
        has_called = False
        while queue := self._warnings or self._queue:
            patience = queue[0][0] - self._clock()
            if patience > 0 and not (self._slots.quiet.is_set() or self._hurry.is_set()):
                if self._holding_back:
                    return  # one that waits is enough: it calls the others
                await self._let_binding_go_first(patience)
                has_called = False
            elif not has_called:
                has_called = True
                for _ in range(min(len(queue) - 1, CALLED)):
                    self._start_sender()
            else:
                await self._send(queue.popleft()[1])

    async def _let_binding_go_first(self, patience: float) -> None:
        self._holding_back = True
        self._warned.clear()
        reasons_to_end = self._slots.quiet, self._hurry, self._warned
        waits = [asyncio.ensure_future(event.wait()) for event in reasons_to_end]
        try:
            await asyncio.wait(waits, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._holding_back = False
            for wait in waits:
                wait.cancel()

    async def _send(self, told: Told) -> None:
        slots = self._slots
        for attempt in range(1, TRIES + 1):
            if not slots.take_now(EVENT):
                await slots.take(EVENT)
            try:
                await self._write(told)
                return
            except Unreachable as error:
                if attempt == TRIES or self._hurry.is_set():
                    self._give_up(told, error)
                    return
            except ApiError as error:
                self._give_up(told, error)
                return
            except Exception:  # whatever it is, it is about this one
                self.dropped += 1
                log.exception("recording Event %s about %s", told.event.reason, told.event.regarding.name)
                return
            finally:
                slots.give(EVENT)
            await self._sleep(RETRY_S)

    async def _write(self, told: Told) -> None:
        known = told.written
        if known == told.count:
            return  # whoever was sent before it has told it as well
        series = told.series(self._now_ns() / 1e9)
        try:
            if not known or not await self._continue(told.event, series):
                event = told.event
                await self._create(msgspec.structs.replace(event, series=series) if series else event)
        except BaseException:
            told.written = known
            raise

    async def _continue(self, event: Event, series: Series | None) -> bool:
        """Tells that an Event goes on. False when the server has it no more."""
        key = f"{event.metadata.namespace}/{event.metadata.name}"
        try:
            await self._client.patch(EVENTS, key, _encode({"series": series}), how=MERGE, retry=True)
        except NotFound:
            return False
        return True

    async def _create(self, event: Event) -> None:
        try:
            await self._client.create(EVENTS, event.metadata.namespace, _encode(event), retry=True)
        except Conflict as error:
            if error.reason != "AlreadyExists":  # then only the answer got lost
                raise

    def _give_up(self, told: Told, error: ApiError) -> None:
        """A namespace that is being deleted takes no Events: nothing to worry about."""
        self.dropped += 1
        log.debug(
            "Event %s about %s is not recorded: %s", told.event.reason, told.event.regarding.name, error
        )
