"""A live scheduler: the engine, the API server's side of it, and who may do what when.

    informers ──▶ driver (engine) ──▶ performer
                     ▲                    │
                     └──── answers ───────┘

Several replicas may run: all follow the cluster, one leads and decides. Whoever loses the lease stops
writing at once and ends. Whoever is asked to end finishes what is under way and gives the lease back.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from mooring.app.driver import Clock, Driver
from mooring.app.lookout import Lookout
from mooring.config.load import SchedulerConfig
from mooring.config.scheduler import LeaderElection
from mooring.engine.decisions import Decision
from mooring.engine.engine import Engine
from mooring.engine.events import Event
from mooring.extender.client import ExtenderClient
from mooring.kube.access.access import Access
from mooring.kube.client import Client
from mooring.kube.garbage_collection import settle
from mooring.kube.http.backoff import Pace
from mooring.kube.http.call_slots import Slots
from mooring.kube.http.rate_limiter import Limiter
from mooring.kube.http.rest_client_metrics import Traffic
from mooring.kube.http.transport import Transport
from mooring.kube.http.write_fence import Fenced
from mooring.kube.lease.lease import LeaderElector, new_identity
from mooring.kube.lease.lease_thread import LeaseThread
from mooring.kube.perform.performer import KubePerformer
from mooring.kube.record.event_series import Reference
from mooring.kube.record.recorder import Recorder
from mooring.kube.watch.followed_kinds import kinds_read
from mooring.kube.watch.informers import Informers
from mooring.logs.decisions import DecisionLog

log = logging.getLogger("mooring.app")

DRAIN_S = 10.0  # for what is under way when the scheduler is asked to end
FLUSH_S = 3.0  # for Events that are not written yet
HANDOVER_S = 0.3  # who has a successor begins nothing later than that
LAST_WORDS_S = 2.0  # at most for what is sent to be answered and told, before a successor may lead
LEASE_CONNECTIONS = 2
LEASE = "lease"  # why the driver pauses
FOLLOWING = Pace(initial=0.1, cap=0.4, jitter=0.5)  # informers have ways of their own to try again
FOLLOWING_RETRIES = 3

DONE, FAILED = 0, 1


class LiveScheduler:
    """One replica. `run` returns the exit code; `stop` asks it to end in order."""

    def __init__(
        self,
        engine: Engine,
        access: Access,
        config: SchedulerConfig,
        *,
        clock: Clock,
        stuck: Callable[[], str] = lambda: "",
    ) -> None:
        self.engine = engine
        self.is_stopping = False
        self.is_caught_up = False  # the engine knows everything there was at the start
        self.decisions = DecisionLog(engine)
        self._config = config
        self._transport = Transport(access)
        self._lease_transport = Transport(access, connections=LEASE_CONNECTIONS)
        self._extenders = ExtenderClient(config.extenders, may_bind=self.may_write)
        self.traffic = Traffic(access.server)
        self.client = Client(self._transport, self._limiter(), traffic=self.traffic)
        slots = Slots()
        self._transport.on_width = slots.resize
        self._writing = self._limiter()
        writing = Fenced(self._transport, self.may_write)
        self._recording = self._limiter()
        recording = Fenced(self._transport, self._may_tell)
        self.recorder = Recorder(Client(recording, self._recording, traffic=self.traffic), slots=slots)
        self.elector = self._elector(config.leader_election, stuck)
        self._lease = LeaseThread(self.elector, self._lease_transport.close) if self.elector else None
        self._hands_over = False  # nothing more is begun: another is about to lead
        self._is_silent = False  # nor told
        self.performer = KubePerformer(
            Client(writing, self._writing, traffic=self.traffic),
            self._answered,
            recorder=self.recorder,
            binding_state=engine.binding_state,
            slots=slots,
            extenders=self._extenders,
        )
        engine.attach(self.performer.api)
        reading = Client(
            self._transport, self._limiter(), FOLLOWING, retries=FOLLOWING_RETRIES, traffic=self.traffic
        )
        self.informers = Informers(reading, kinds_read(engine), self._tell)
        self.driver = Driver(engine, self._perform, clock=clock, in_flight=lambda: self.performer.backlog)
        self.lookout = Lookout(self.informers, self.driver, self.performer.perform, may_write=self.may_write)
        self._leading = asyncio.Event()
        self._ended = asyncio.Event()  # stopped, or the lease is lost
        self._background: list[asyncio.Task[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    def leads(self) -> bool:
        """Whether this replica is the one that schedules, this very moment."""
        return self.elector is None or self.elector.leads()

    def may_write(self) -> bool:
        return self.leads() and not self._hands_over

    def _may_tell(self) -> bool:
        return self.leads() and not self._is_silent

    @property
    def is_in_sync(self) -> bool:
        """Whether it knows everything there was at the start, and hears of what changes."""
        return self.is_caught_up and self.informers.is_synced

    def stop(self) -> None:
        """Asks it to end in order."""
        self.is_stopping = True
        self._ended.set()

    async def run(self) -> int:
        """Schedules until it is stopped (0) or has lost the lease (1)."""
        self._loop = asyncio.get_running_loop()
        try:
            async with asyncio.TaskGroup() as group:
                self._begin(group, self.driver.run())
                self._begin(group, self.recorder.run())
                self._begin(group, self._live(group))
                await self._ended.wait()
                code = await self._end()
                for task in self._background:
                    task.cancel()
            return code
        finally:
            self.performer.halt()
            await self._close()

    # the stages of a life

    async def _live(self, group: asyncio.TaskGroup) -> None:
        """Follows the cluster, waits until it leads, and then decides."""
        self._begin(group, self._transport.warm())
        self._stand(group)
        if not self._config.delay_cache_until_active:
            await self._follow(group)
        await self._lead()
        if self._config.delay_cache_until_active:
            await self._follow(group)
        else:
            await self._take_up()
        log.info("scheduling for %s", ", ".join(self.engine.profiles))
        self.driver.start()
        self._begin(group, self.lookout.run())

    async def _take_up(self) -> None:
        """What is known must be as new as the lease: whoever led before may have given room away since."""
        if self.elector is not None:
            self.driver.pause(LEASE)
            await self.informers.catch_up()
            await self.driver.caught_up()
            self._go_on()

    def _go_on(self) -> None:
        if self.leads():
            self.driver.resume(LEASE)

    async def _follow(self, group: asyncio.TaskGroup) -> None:
        self._begin(group, self.informers.run())
        await self.informers.listed()
        await self.driver.caught_up()
        settle()
        self.is_caught_up = True
        log.info("the cluster is known: %s", self.informers.counts)

    def _stand(self, group: asyncio.TaskGroup) -> None:
        """Takes part in the election: looks at the lease now, and takes it once the cluster is known."""
        if self._lease is not None:
            self._lease.start(partial(self._start, group), self._lose, self._doubt)

    async def _lead(self) -> None:
        if self.elector is not None:
            log.info("waiting for the lease, as %s", self.elector.identity)
            await self._leading.wait()

    def _is_ready_to_lead(self) -> bool:
        return self.is_in_sync or self._config.delay_cache_until_active

    def _start(self, group: asyncio.TaskGroup) -> None:
        """The lease is this one's: for the first time, or again."""
        if self._leading.is_set():
            self._begin(group, self._take_up())
        self._leading.set()

    def _doubt(self) -> None:
        """Perhaps another leads. The fence lets nothing pass; what is under way fails and is tried again."""
        self.driver.pause(LEASE)

    def _lose(self) -> None:
        """The lease is lost: not a write more."""
        self.driver.halt()
        self.performer.halt()
        self._ended.set()

    async def _end(self) -> int:
        self.driver.halt()
        if not self.is_stopping:
            log.error("the lease is lost")
            return FAILED
        log.info("ending: nothing new is decided")
        if self._lease is None:
            await self._drain()
            await self.recorder.flush(FLUSH_S)
        else:
            await self._hand_over(self._lease)
        return DONE

    async def _drain(self) -> None:
        left = await self.performer.drain(DRAIN_S)
        if left.given_back or left.unknown:
            log.warning("not carried out: %d; unknown what came of: %s", left.given_back, left.unknown)

    async def _hand_over(self, lease: LeaseThread) -> None:
        """Others wait: what is sent is seen through and told, what is not is left to them."""
        draining = asyncio.ensure_future(self._drain())
        await asyncio.wait((draining,), timeout=HANDOVER_S)
        self._hands_over = True
        self._writing.open()  # whoever waits for its turn meets the fence at once
        self._recording.open()
        self.recorder.hurry()
        loop = asyncio.get_running_loop()
        end = loop.time() + LAST_WORDS_S
        await asyncio.wait((draining,), timeout=LAST_WORDS_S)
        await self.recorder.flush(end - loop.time())
        self._is_silent = True
        await draining
        await lease.release()

    async def _close(self) -> None:
        await self._extenders.close()
        if self._lease is not None:
            await self._lease.close()
        await self._transport.close()

    # wiring

    def _begin(self, group: asyncio.TaskGroup, work: Coroutine[Any, Any, None]) -> None:
        self._background.append(group.create_task(work))

    def _tell(self, event: Event) -> None:
        self.driver.tell(event)

    def _perform(self, decision: Decision) -> None:
        self.decisions.decided(decision)
        self.performer.perform(decision)

    def _answered(self, event: Event) -> None:
        self.decisions.heard(event)
        self.driver.tell(event)

    def _limiter(self) -> Limiter:
        """Each kind of traffic has its own, as in kube-scheduler: Events never hold binding up."""
        return Limiter(self._config.client_connection.qps, self._config.client_connection.burst)

    def _elector(self, settings: LeaderElection, stuck: Callable[[], str]) -> LeaderElector | None:
        if not settings.leader_elect:
            return None
        client = Client(self._lease_transport, retries=0, traffic=self.traffic)
        return LeaderElector(
            client,
            settings,
            new_identity(),
            announce=self._announce,
            stuck=stuck,
            is_ready=self._is_ready_to_lead,
        )

    def _announce(self, lease: Reference, note: str) -> None:
        """Called in the lease's thread; Events are recorded in this one's."""
        controller = self._config.leader_election.resource_name
        why = "LeaderElection"
        self._in_loop(partial(self.recorder.record, "Normal", why, why, lease, note, controller=controller))

    def _in_loop(self, what: Callable[[], None]) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(what)
