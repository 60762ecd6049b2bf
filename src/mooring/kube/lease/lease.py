"""Leader election by a Lease: of several schedulers one leads, and never two at a time.

Whether another's lease has run out is judged by how long it has been seen unchanged on this machine's own
clock, never by the times written in it. A leader counts from the moment it began to renew, others from the
moment they saw the renewal, and a leader gives up earlier than others may take over.

Whoever waits looks often, and at the very moment at which the lease runs out: a look costs the server
little, and nothing is scheduled as long as nobody leads.
"""

from __future__ import annotations

import asyncio
import logging
import random as randomness
import socket
import time
import uuid
from collections.abc import Awaitable, Callable

from mooring.config.scheduler import LeaderElection
from mooring.errors import ApiError, Conflict, MooringError, NotFound
from mooring.kube.client import Client
from mooring.kube.contact import is_away
from mooring.kube.lease.lease_record import Lease
from mooring.kube.record.event_series import Reference
from mooring.kube.request_bodies import micro_timestamp
from mooring.kube.resources import LEASES

log = logging.getLogger("mooring.kube")

LOOK_S = 0.25  # between two looks at another's lease, and before a write that failed is tried again
JITTER = 0.2  # of that, so that those who wait do not ask in step
SHORTEST_CALL_S = 1.0
QUIET_S = 5.0  # between two different complaints, while a server comes and goes
SHORTEST_REST_S = 0.001  # less may be no time at all to an event loop, and a lease that ends then never would
NEVER = float("-inf")
BOOTTIME: int | None = getattr(time, "CLOCK_BOOTTIME", None)


def clock() -> float:
    """Seconds that pass while the machine sleeps as well, where the system counts them."""
    return time.monotonic() if BOOTTIME is None else time.clock_gettime(BOOTTIME)


def new_identity() -> str:
    """`<hostname>_<uuid>`: another one for each process."""
    return f"{socket.gethostname()}_{uuid.uuid4()}"


class Stuck(MooringError):
    """A leader gave its lease up because something keeps it from leading."""


class LeaderElector:
    """One candidate. Its client is its own, so that renewals wait for nobody, and tries nothing again.

    `leads`, `overdue`, `identity` and `leader` may be asked in any thread. `stuck` says what keeps a leader
    from leading, "" as long as nothing does: who is stuck gives the lease up, so that another may lead.
    """

    def __init__(
        self,
        client: Client,
        settings: LeaderElection,
        identity: str,
        *,
        announce: Callable[[Reference, str], None] = lambda lease, note: None,
        on_new_leader: Callable[[str], None] = lambda identity: None,
        stuck: Callable[[], str] = lambda: "",
        is_ready: Callable[[], bool] = lambda: True,
        clock: Callable[[], float] = clock,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        self.identity = identity
        self.leader = ""  # who leads, as far as is known
        self._client = client
        self._settings = settings
        self._announce = announce
        self._on_new_leader = on_new_leader
        self._stuck = stuck
        self._is_ready = is_ready
        self._clock = clock
        self._now = now
        self._sleep = sleep
        self._random = random
        self._seen: Lease | None = None
        self._seen_at = NEVER
        self._until = NEVER  # this one leads until then
        self._renewed_at = NEVER
        self._resigned = False
        self._complaint = ""
        self._complained_at = NEVER
        self._refused_since: float | None = None  # the server has said no ever since

    def leads(self) -> bool:
        """Whether this one leads, this very moment. Nothing may be written when it does not."""
        return self._clock() < self._until and not self._resigned

    def overdue(self, tolerance_s: float) -> bool:
        """Whether it should have renewed its lease long ago and goes on all the same: something hangs."""
        since = self._clock() - self._renewed_at
        return self._renewed_at != NEVER and since > self._settings.lease_duration + tolerance_s

    async def run(
        self,
        on_started: Callable[[], None],
        on_stopped: Callable[[], None],
        on_doubt: Callable[[], None] = lambda: None,
    ) -> None:
        """Waits until it leads, and leads until it no longer may. Ends when the lease is lost or given back.

        `on_doubt` is called when its time is up and the server has not said that another leads: it does not
        lead then, and `on_started` is called once more if the lease turns out to be its own still.
        `on_stopped` is called the moment it is lost, and not when it is given back. Stuck is raised when the
        lease is given up because of what `stuck` says.
        """
        await self._acquire()
        log.info("%s became leader", self.identity)
        self._tell("became leader")
        on_started()
        while not await self._keep() and self._is_mine():
            on_doubt()
            log.warning("no answer about the lease in time: nothing is decided until it is known who has it")
            if not await self._regain():
                break
            log.info("%s leads on: nobody else had the lease", self.identity)
            on_started()
        if self._resigned:
            return
        on_stopped()
        log.error("%s lost the lease", self.identity)
        self._tell("stopped leading")

    async def release(self) -> None:
        """Lets others lead at once. Only when nothing is being written any more."""
        held, self._resigned = self.leads(), True
        self._renewed_at = NEVER
        if not held:
            return
        try:
            async with asyncio.timeout(self._settings.renew_deadline):
                if not await self._free():  # a renewal that was cut off has come through after all
                    self._observe(Lease.read(await self._client.get(LEASES, self._key)))
                    await self._free()
        except (ApiError, TimeoutError) as error:
            log.warning("the lease is not given back; it runs out by itself: %s", error)

    async def _free(self) -> bool:
        """Takes this one's name out of the lease. False when it has changed meanwhile."""
        if self._seen is None or self._seen.holder != self.identity:
            return True
        free = self._seen.released(micro_timestamp(self._now()))
        try:
            await self._client.replace(LEASES, self._key, free.body())
        except Conflict:
            return False
        return True

    async def _acquire(self) -> None:
        while not await self._try():
            wait = self._soon() * (1 + JITTER * self._random())
            runs_out = self._runs_out_at() - self._clock()
            await self._sleep(max(SHORTEST_REST_S, min(wait, runs_out) if runs_out > 0 else wait))

    async def _keep(self) -> bool:
        """Renews until it no longer leads. True when it was given back."""
        wait: float = self._settings.retry_period
        while self.leads():
            if why := self._stuck():
                await self.release()
                raise Stuck(why)
            left = self._until - self._clock()
            await self._sleep(max(SHORTEST_REST_S, min(wait, left)))
            if self.leads():
                wait = self._settings.retry_period if await self._try() else self._soon()
        self._until = self._renewed_at = NEVER
        return self._resigned

    async def _regain(self) -> bool:
        """Asks until it is known whether this one has the lease, and then takes it up again if it does.

        A server that is away is waited for. One that is there and goes on refusing is taken at its word.
        """
        while self._is_mine() and not self._resigned and not self._is_refused():
            if await self._ask_in_time(self._reclaim):
                return True
            await self._sleep(self._soon())
        return False

    def _is_refused(self) -> bool:
        """Whether the server has said no for as long as a lease lasts: it needs a while to read its roles."""
        return self._refused_since is not None and (
            self._clock() - self._refused_since > self._settings.lease_duration
        )

    def _is_mine(self) -> bool:
        """Whether nobody else had the lease, as far as is known. Who takes it writes a name of its own."""
        return self._seen is not None and self._seen.holder == self.identity

    def _soon(self) -> float:
        return min(self._settings.retry_period, LOOK_S)

    async def _try(self) -> bool:
        """Takes or renews the lease, if that is possible now."""
        return await self._ask_in_time(self._renew_or_take)

    async def _ask_in_time(self, ask: Callable[[], Awaitable[bool]]) -> bool:
        """What comes of asking. Ends before a leader's time is up."""
        seconds = max(SHORTEST_CALL_S, self._settings.renew_deadline / 2)
        if self._until != NEVER:
            seconds = min(seconds, self._until - self._clock())
        try:
            async with asyncio.timeout(seconds):
                done = await ask()
        except TimeoutError:
            self._complain(f"no answer about the lease within {seconds:.1f} s")
        except ApiError as error:
            self._complain(f"the lease: {error}")
            if is_away(error):
                self._refused_since = None
            elif self._refused_since is None:
                self._refused_since = self._clock()
        else:
            self._complaint, self._refused_since = "", None
            return done
        return False

    def _complain(self, complaint: str) -> None:
        """Says what is wrong once, as long as it stays the same."""
        if complaint == self._complaint or self._clock() < self._complained_at + QUIET_S:
            return
        log.warning("%s", complaint)
        self._complaint, self._complained_at = complaint, self._clock()

    async def _renew_or_take(self) -> bool:
        return await self._renew() or await self._take()

    async def _renew(self) -> bool:
        """The quick way for who leads: writes what it knows, without looking first."""
        if not self.leads() or self._seen is None:
            return False
        try:
            return await self._write(self._seen)
        except ApiError as error:
            log.debug("the lease has changed, looking again: %s", error)
            return False

    async def _take(self) -> bool:
        """Looks at the lease; takes it when it is free, has run out, or is this one's own.

        Who is not ready to lead looks all the same: the time in which a lease runs out then passes meanwhile.
        """
        try:
            self._observe(Lease.read(await self._client.get(LEASES, self._key)))
        except NotFound:
            return self._may_take() and await self._create()
        if not self._may_take():
            return False
        assert self._seen is not None
        return await self._write(self._seen)

    async def _reclaim(self) -> bool:
        """Takes the lease up again if it still has this one's name. One that was deleted is lost."""
        try:
            self._observe(Lease.read(await self._client.get(LEASES, self._key)))
        except NotFound:
            self._seen = None
        return self._seen is not None and self._is_mine() and await self._write(self._seen)

    async def _write(self, lease: Lease) -> bool:
        """Puts this one's name and the time into the lease, unless somebody else was faster."""
        began = self._clock()
        taken = lease.taken(self.identity, self._settings.lease_duration, micro_timestamp(self._now()))
        answer = await self._client.replace(LEASES, self._key, taken.body())
        return self._hold(Lease.read(answer), began)

    async def _create(self) -> bool:
        began, settings = self._clock(), self._settings
        empty = Lease.new(settings.resource_namespace, settings.resource_name)
        lease = empty.taken(self.identity, settings.lease_duration, micro_timestamp(self._now()))
        answer = await self._client.create(LEASES, settings.resource_namespace, lease.body())
        return self._hold(Lease.read(answer), began)

    def _hold(self, lease: Lease, began: float) -> bool:
        self._observe(lease)
        if self._resigned:
            return False
        self._renewed_at = began
        self._until = began + min(self._settings.renew_deadline, self._settings.lease_duration)
        return True

    def _observe(self, lease: Lease) -> None:
        """Notes a lease, and when it was first seen like this. Another's name in it ends this one's time."""
        if self._seen is None or self._seen.version != lease.version or self._seen.spec != lease.spec:
            self._seen_at = self._clock()
        self._seen = lease
        holder = lease.holder
        if holder != self.identity:
            self._until = NEVER
        if holder and holder != self.leader:
            self.leader = holder
            self._on_new_leader(holder)

    def _may_take(self) -> bool:
        return self._is_ready() and not self._resigned and not self._others_lead()

    def _others_lead(self) -> bool:
        """Whether somebody else holds a lease that has not run out. One that was deleted runs out as well."""
        return self._clock() < self._runs_out_at()

    def _runs_out_at(self) -> float:
        seen = self._seen
        if seen is None or seen.holder in ("", self.identity):
            return NEVER
        return self._seen_at + (seen.duration_s or self._settings.lease_duration)

    @property
    def _key(self) -> str:
        return f"{self._settings.resource_namespace}/{self._settings.resource_name}"

    def _tell(self, what: str) -> None:
        settings = self._settings
        uid = str(self._seen.metadata.get("uid", "")) if self._seen is not None else ""
        lease = Reference(
            "Lease", settings.resource_namespace, settings.resource_name, uid, LEASES.api_version
        )
        self._announce(lease, f"{self.identity} {what}")
