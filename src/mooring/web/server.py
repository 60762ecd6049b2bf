"""Serves a scheduler's health, metrics, configuration and debug API over HTTPS.

    serving = Serving(ServingSettings(port=10259), Shown(engine=..., meter=..., ...), authorize=...)
    await serving.start()
    ...
    await serving.stop()

Everything is answered on the event loop the scheduler runs on, between its decisions.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler
from prometheus_client import PlatformCollector, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from mooring.config.load import SchedulerConfig
from mooring.engine.engine import Engine
from mooring.errors import ConfigError
from mooring.framework.measures import Family, Kind
from mooring.framework.meter import Meter
from mooring.logs.decisions import DecisionLog
from mooring.model.objects import Pod
from mooring.web import flags, pages
from mooring.web.access import Authorize, guarded
from mooring.web.certificates import OwnTls, ServerTls, server_tls
from mooring.web.configz import configz
from mooring.web.exposition import encode, gauges_text
from mooring.web.health import Health
from mooring.web.reading import Reading, read
from mooring.web.resource_metrics import pods_of, read_resources
from mooring.web.services import Services

OPEN_PATHS = ("/healthz", "/readyz", "/livez")
SHUTDOWN_S = 3.0  # for requests under way when serving ends
MASTER = Family(
    "leader_election_master_status", Kind.GAUGE, "Whether this replica leads: 1, or 0.", ("name",),
    stability="ALPHA",
)  # fmt: skip
HEALTHCHECK = Family(
    "kubernetes_healthcheck", Kind.GAUGE, "The result of a health check: 1, or 0.", ("name", "type"),
    stability="STABLE",
)  # fmt: skip


class ServingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how. Port 0 serves nothing."""

    bind_address: str = "0.0.0.0"
    port: int = 10259
    cert_dir: Path | None = None
    cert_file: Path | None = None
    key_file: Path | None = None
    client_ca_file: Path | None = None
    open_paths: tuple[str, ...] = OPEN_PATHS
    profiling: bool = True  # whether /debug is there
    flags: Mapping[str, str] = {}  # the command line, for /flagz


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What is served."""

    engine: Engine
    meter: Meter
    config: SchedulerConfig
    decisions: DecisionLog
    health: Health = Health()
    leads: Callable[[], bool] = lambda: True


class Serving:
    """The server of one scheduler. `port` is where it listens once it is started."""

    def __init__(
        self,
        settings: ServingSettings,
        shown: Shown,
        *,
        authorize: Authorize | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.port = settings.port
        self._settings = settings
        self._shown = shown
        self._authorize = authorize
        self._clock = clock
        self._now = now
        self._started = now()
        self._process = (ProcessCollector(registry=None), PlatformCollector(registry=None))
        self._tls: ServerTls | OwnTls | None = None
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Listens. ConfigError when the certificate or the port cannot be used."""
        settings = self._settings
        if not settings.port:
            return
        self._tls = server_tls(
            cert_file=settings.cert_file,
            key_file=settings.key_file,
            cert_dir=settings.cert_dir,
            client_ca_file=settings.client_ca_file,
            names=certificate_names(settings.bind_address),
            clock=self._clock,
        )
        self._runner = web.AppRunner(self.app(), access_log=None, shutdown_timeout=SHUTDOWN_S)
        await self._runner.setup()
        site = web.TCPSite(self._runner, settings.bind_address, settings.port, ssl_context=self._tls.context)
        try:
            await site.start()
        except OSError as error:
            await self.stop()
            raise ConfigError.at("", f"cannot listen on port {settings.port}: {error.strerror}") from error

    async def stop(self) -> None:
        """Ends what is under way and listens no more."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    def app(self) -> web.Application:
        """The routes, behind the guard."""
        guard = guarded(self._authorize, self._settings.open_paths)
        app = web.Application(middlewares=[self._refreshing, guard])
        app.add_routes(self._shown.health.routes())
        app.add_routes(
            [
                web.get("/metrics", self._metrics),
                web.get("/metrics/resources", self._resources),
                web.get("/metrics/slis", self._slis),
                web.get("/configz", self._configz),
                web.get("/statusz", self._statusz),
                web.get("/flagz", self._flagz),
            ]
        )
        app.add_routes(Services(self._shown.engine, self._shown.leads).routes())
        if self._settings.profiling:
            app.add_routes(flags.routes(self._shown.decisions))
        return app

    @web.middleware
    async def _refreshing(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self._tls is not None:
            self._tls.refresh()
        return await handler(request)

    async def _metrics(self, request: web.Request) -> web.Response:
        lease = self._shown.config.leader_election.resource_name
        master = Reading(MASTER, [((lease,), float(self._shown.leads()))])
        readings = [*await read(self._shown.engine, self._shown.meter), master]
        return await self._exposed(request, readings, more=True)

    async def _resources(self, request: web.Request) -> web.Response:
        if not self._shown.leads():
            return web.Response()
        body = await asyncio.to_thread(_resources_text, pods_of(self._shown.engine))
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    async def _slis(self, request: web.Request) -> web.Response:
        series = [
            ((check.name, path), float(not check.failing()))
            for path, checks in self._shown.health.paths().items()
            for check in checks
        ]
        return await self._exposed(request, [Reading(HEALTHCHECK, list(series))])

    async def _exposed(
        self, request: web.Request, readings: list[Reading], *, more: bool = False
    ) -> web.Response:
        """The text is written in a thread: it may be long, and nothing in it changes any more."""
        accept = request.headers.get("Accept", "")
        body, content_type = await asyncio.to_thread(encode, readings, accept, self._process if more else ())
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def _configz(self, request: web.Request) -> web.Response:
        return web.Response(body=configz(self._shown.config), content_type="application/json")

    async def _statusz(self, request: web.Request) -> web.Response:
        paths = sorted({route.resource.canonical for route in request.app.router.routes() if route.resource})
        return web.Response(text=pages.statusz(self._started, self._now(), paths))

    async def _flagz(self, request: web.Request) -> web.Response:
        return web.Response(text=pages.flagz(self._settings.flags))


def _resources_text(pods: list[Pod]) -> bytes:
    return gauges_text(read_resources(pods))


def certificate_names(bind_address: str) -> list[str]:
    """What a certificate of our own is made out to: this host, and where it listens."""
    names = [socket.gethostname(), "localhost", "127.0.0.1"]
    if bind_address not in ("", "0.0.0.0", "::"):
        names.append(bind_address)
    return list(dict.fromkeys(names))
