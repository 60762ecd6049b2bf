"""A server with one Lease, far away: requests and answers take their time, get lost, or arrive too late."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from kube.played_server import refusal
from kube.scripted import Answer, Following
from mooring.config.durations import Duration
from mooring.config.scheduler import LeaderElection
from mooring.errors import Unreachable
from mooring.kube.client import Client
from mooring.kube.http.transport import Request, Stream
from mooring.kube.lease.lease import LeaderElector

SETTINGS = LeaderElection(lease_duration=Duration(15), renew_deadline=Duration(10), retry_period=Duration(2))


class LeaseServer:
    """The lease, guarded by its resource version."""

    def __init__(self) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        self.asked: list[tuple[str, str]] = []  # who, and by which method
        self.forbids_writes = False

    @property
    def spec(self) -> dict[str, Any]:
        assert self.lease is not None
        return self.lease["spec"]  # type: ignore[no-any-return]

    def carry_out(self, request: Request) -> Answer:
        body = json.loads(request.body or b"null")
        if request.method == "POST":
            if self.lease is not None:
                return refusal(409, "already exists", "AlreadyExists")
            return self._write(body)
        if self.lease is None:
            return refusal(404, 'leases "kube-scheduler" not found', "NotFound")
        if request.method == "GET":
            return Answer(200, self.lease)
        if self.forbids_writes:
            return refusal(403, "leases is forbidden", "Forbidden")
        if body["metadata"]["resourceVersion"] != self.lease["metadata"]["resourceVersion"]:
            return refusal(409, "the object has been modified", "Conflict")
        return self._write(body)

    def change(self, **spec: Any) -> None:
        """Somebody else writes."""
        self._write(
            {**(self.lease or {"metadata": {}}), "spec": {**(self.lease or {}).get("spec", {}), **spec}}
        )

    def _write(self, body: Any) -> Answer:
        self.version += 1
        metadata = {**body["metadata"], "resourceVersion": str(self.version), "uid": "lease-uid"}
        self.lease = {**body, "metadata": metadata}
        return Answer(200, self.lease)


class Line(Following):
    """One candidate's line to the server. What is cut off on the way there still arrives."""

    def __init__(self, server: LeaseServer, name: str) -> None:
        self._server = server
        self._name = name
        self.is_cut = False
        self.there: Callable[[], float] = lambda: 0.0
        self.back: Callable[[], float] = lambda: 0.0
        self.loses: Callable[[], bool] = lambda: False

    @asynccontextmanager
    async def follow(self, request: Request) -> AsyncIterator[Stream]:
        if self.is_cut:
            await asyncio.sleep(self.there())
            raise Unreachable(0, "connection refused", sent=False)
        yield await asyncio.shield(asyncio.ensure_future(self._travel(request)))

    async def _travel(self, request: Request) -> Answer:
        await asyncio.sleep(self.there())
        self._server.asked.append((self._name, request.method))
        answer = self._server.carry_out(request)
        await asyncio.sleep(self.back())
        if self.loses() or self.is_cut:
            await asyncio.sleep(1000.0)  # nobody waits as long
        return answer


class Candidate:
    """An elector with its line, its own clock, and what it said."""

    def __init__(self, server: LeaseServer, name: str, *, offset: float = 0.0, **more: Any) -> None:
        loop = asyncio.get_running_loop()
        self.line = Line(server, name)
        self.elector = LeaderElector(
            Client(self.line, retries=0),
            more.pop("settings", SETTINGS),
            name,
            clock=lambda: loop.time() + offset,
            now=more.pop("now", lambda: 1_700_000_000.25),
            random=more.pop("random", lambda: 0.0),
            **more,
        )
        self.said: list[tuple[str, float]] = []
        says = self._say("started"), self._say("stopped"), self._say("doubts")
        self.task = asyncio.ensure_future(self.elector.run(*says))

    def _say(self, what: str) -> Callable[[], None]:
        return lambda: self.said.append((what, asyncio.get_running_loop().time()))

    @property
    def words(self) -> list[str]:
        return [what for what, _ in self.said]

    async def die(self) -> None:
        """The process is gone, without a word."""
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)
