"""Serves a scheduler's health, metrics, configuration and debug API over HTTPS.

    serving = Serving(ServingSettings(port=10259), Shown(engine=..., meter=..., ...), authorize=...)
    await serving.start()
    ...
    await serving.stop()

Everything is answered on the event loop the scheduler runs on, between its decisions. Who comes in, and what
strangers may cost, is the door's (`door`); who may read what is the guard's (`access`).
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Mapping

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler
from prometheus_client import PlatformCollector, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

from mooring.config.feature_gates import FeatureGates
from mooring.config.load import SchedulerConfig
from mooring.engine.engine import Engine
from mooring.errors import ConfigError
from mooring.framework.metrics.meter import Meter
from mooring.logs.decisions import DecisionLog
from mooring.web import flags, pages
from mooring.web.access import Authorize, guarded
from mooring.web.door import BOUNDS, Bounds, Door
from mooring.web.exposition import encode, gauges_text
from mooring.web.health import Health
from mooring.web.identities import Identities
from mooring.web.lookup import Lookup
from mooring.web.process_metrics import build_info, features, health_checks, master, view_age
from mooring.web.profiling import Profiler
from mooring.web.reading import Reading, read
from mooring.web.resource_metrics import pods_of, read_resources
from mooring.web.services import Services
from mooring.web.tls import ServerTls, TlsSettings

log = logging.getLogger("mooring.web")
# What is not HTTP is answered with 400 and is not worth a line of the log: strangers could fill it.
_quiet = logging.getLogger("mooring.web.http")
_quiet.setLevel(logging.CRITICAL)

OPEN_PATHS = ("/healthz", "/readyz", "/livez")
SHUTDOWN_S = 3.0  # for requests under way when serving ends
LONGEST_FIELD = 32 * 1024  # bytes of a header: tokens of people with many groups are long
LONGEST_ANSWER_S = 90.0  # for an answer; a profile takes a minute


class ServingSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how. Port 0 serves nothing."""

    bind_address: str = "0.0.0.0"
    port: int = 10259
    tls: TlsSettings = TlsSettings()
    open_paths: tuple[str, ...] = OPEN_PATHS
    share_port: bool = False  # with others that listen there
    profiling: bool = True  # whether /debug is there
    disabled_metrics: frozenset[str] = frozenset()  # names that are not shown
    flags: Mapping[str, str] = {}  # the command line, for /flagz


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """What is served."""

    engine: Engine
    meter: Meter
    config: SchedulerConfig
    decisions: DecisionLog
    health: Health = Health()
    leads: Callable[[], bool] = lambda: True
    gates: FeatureGates = FeatureGates()
    view_ages: Callable[[], Mapping[str, float]] = dict
    requests: Callable[[], list[Reading]] = list  # what was asked of the API server


class Serving:
    """The server of one scheduler. `port` is where it listens once it is started."""

    def __init__(
        self,
        settings: ServingSettings,
        shown: Shown,
        *,
        authorize: Authorize | None = None,
        lookup: Lookup | None = None,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        bounds: Bounds = BOUNDS,
    ) -> None:
        self._bounds = bounds
        self.port = settings.port
        self._settings = settings
        self._shown = shown
        self._authorize = authorize
        self._clock = clock
        self._now = now
        self._started = now()
        self._process = (ProcessCollector(registry=None), PlatformCollector(registry=None))
        self._lookup = lookup or Lookup(None)
        self._looking: asyncio.Task[None] | None = None
        self._profiler = Profiler()
        self._runner: web.AppRunner | None = None
        self._door: Door | None = None

    async def start(self) -> None:
        """Listens. ConfigError when the certificate or the port cannot be used."""
        settings = self._settings
        if not settings.port:
            return
        await self._lookup.first()
        names = certificate_names(settings.bind_address)
        tls = ServerTls(settings.tls, names, lambda: self._lookup.authorities.all(), self._clock)
        self._looking = asyncio.create_task(self._lookup.run())
        self._runner = web.AppRunner(
            self.app(),
            access_log=None,
            logger=_quiet,
            shutdown_timeout=SHUTDOWN_S,
            keepalive_timeout=self._bounds.request_s,
            lingering_time=self._bounds.linger_s,
            auto_decompress=False,
            max_field_size=LONGEST_FIELD,
        )
        await self._runner.setup()
        http = self._runner.server
        assert http is not None
        self._door = Door(http, tls.context, self._bounds)
        try:
            self._door.open(settings.bind_address, settings.port, share_port=settings.share_port)
        except OSError as error:
            await self.stop()
            why = error.strerror or str(error)
            raise ConfigError.at("", f"cannot listen on port {settings.port}: {why}") from error

    async def stop(self) -> None:
        """Ends what is under way and listens no more."""
        runner, self._runner = self._runner, None
        door, self._door = self._door, None
        self._profiler.stop()
        if self._looking is not None:
            self._looking.cancel()
        if door is not None:
            door.shut()
        if runner is not None:
            await runner.cleanup()
        if door is not None:
            await door.clear()

    def app(self) -> web.Application:
        """The routes, behind the guard."""
        identities = Identities(lambda: self._lookup.authorities)
        guard = guarded(self._authorize, self._settings.open_paths, identities)
        app = web.Application(middlewares=[bounded, guard])
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
            app.add_routes(self._profiler.routes())
        return app

    async def _metrics(self, request: web.Request) -> web.Response:
        shown = self._shown
        lease = shown.config.leader_election.resource_name
        own = [master(lease, shown.leads()), view_age(shown.view_ages()), build_info(), features(shown.gates)]
        readings = [*await read(shown.engine, shown.meter), *own, *shown.requests()]
        return await self._exposed(request, readings, more=True)

    async def _resources(self, request: web.Request) -> web.Response:
        if not self._shown.leads():
            return web.Response()
        pods = pods_of(self._shown.engine)
        body = await asyncio.to_thread(lambda: gauges_text(read_resources(pods)))
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    async def _slis(self, request: web.Request) -> web.Response:
        return await self._exposed(request, [health_checks(self._shown.health)])

    async def _exposed(
        self, request: web.Request, readings: list[Reading], *, more: bool = False
    ) -> web.Response:
        """The text is written in a thread: it may be long, and nothing in it changes any more."""
        accept = request.headers.get("Accept", "")
        readings = [each for each in readings if each.family.name not in self._settings.disabled_metrics]
        body, content_type = await asyncio.to_thread(encode, readings, accept, self._process if more else ())
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def _configz(self, request: web.Request) -> web.Response:
        return web.Response(body=pages.configz(self._shown.config), content_type="application/json")

    async def _statusz(self, request: web.Request) -> web.Response:
        paths = sorted({route.resource.canonical for route in request.app.router.routes() if route.resource})
        return web.Response(text=pages.statusz(self._started, self._now(), paths))

    async def _flagz(self, request: web.Request) -> web.Response:
        return web.Response(text=pages.flagz(self._settings.flags))


@web.middleware
async def bounded(request: web.Request, handler: Handler) -> web.StreamResponse:
    """No answer takes for ever, and none that fails ends anything but itself."""
    try:
        async with asyncio.timeout(LONGEST_ANSWER_S):
            return await handler(request)
    except web.HTTPException as answer:
        answer.force_close()
        raise
    except TimeoutError:
        late = web.Response(status=504, text="not answered in time\n")
        late.force_close()
        return late
    except Exception as error:
        log.error("no answer to %s", request.path, exc_info=error)
        failed = web.Response(status=500, text="internal server error\n")
        failed.force_close()
        return failed


def certificate_names(bind_address: str) -> list[str]:
    """What a certificate of our own is made out to: this host, and where it listens."""
    names = [socket.gethostname(), "localhost", "127.0.0.1"]
    if bind_address not in ("", "0.0.0.0", "::"):
        names.append(bind_address)
    return list(dict.fromkeys(names))
