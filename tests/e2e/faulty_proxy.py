"""A way to the API server on which things go wrong: between one Mooring and the server, on loopback.

It ends TLS, passes on whatever comes, tokens included, and notes each request with when it came and what
was answered. Rules make it fail: the first rule that wants a request says what becomes of it.

    with FaultyProxy(control_plane) as proxy:
        start_mooring(kubeconfig=proxy.kubeconfig)
        proxy.rule(BIND, answer(409, "not now"), times=3)
        proxy.cut(WATCH)
"""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import aiohttp
from aiohttp import web

from e2e.api import Object
from e2e.control_plane import ControlPlane
from e2e.kubeconfig import Server
from e2e.mooring_process import NAME, NAMESPACE, identity
from e2e.process import LOOPBACK, free_ports

BIND, WATCH, LIST, LEASE, EVENT, OTHER = "bind", "watch", "list", "lease", "event", "other"
HOP_BY_HOP = {"connection", "host", "keep-alive", "transfer-encoding", "content-length", "content-encoding"}
ENDED_SECONDS = 10
CLOSING_SECONDS = 0.25  # connections with TLS take a few rounds of the loop to be gone
LOOK_SECONDS = 0.01
T = TypeVar("T")


@dataclass
class Seen:
    """One request; `at` and `answered_at` are on `time.monotonic`. Status 0: no answer was let through."""

    kind: str
    method: str
    path: str
    query: dict[str, str]
    token: str
    body: bytes
    at: float
    status: int = 0
    carried_out: int = 0  # what the server said, whether or not that was let through
    answered_at: float = 0.0

    @property
    def resource(self) -> str:
        """`pods` of `/api/v1/namespaces/a/pods/b/binding`, and of `/api/v1/pods`."""
        words = self.path.strip("/").split("/")
        words = words[2:] if words[0] == "api" else words[3:]
        if len(words) > 2 and words[0] == "namespaces":
            words = words[2:]
        return words[0] if words else ""

    @property
    def pod(self) -> str:
        """Whom a bind is about."""
        return self.path.split("/")[-2]

    @property
    def node(self) -> str:
        """Where a bind goes."""
        return str(json.loads(self.body)["target"]["name"])


Act = Callable[["Passage"], Awaitable[web.StreamResponse]]
Wanted = str | Callable[[Seen], bool]  # a kind, or whatever can be asked of a request


@dataclass
class Rule:
    wanted: Wanted
    act: Act
    times: int | None = None  # None: until it is taken back
    used: list[Seen] = field(default_factory=list)

    def takes(self, seen: Seen) -> bool:
        if self.times is not None and len(self.used) >= self.times:
            return False
        return seen.kind == self.wanted if isinstance(self.wanted, str) else self.wanted(seen)


class Passage:
    """A request on its way, for rules to act on."""

    def __init__(self, proxy: FaultyProxy, request: web.Request, seen: Seen) -> None:
        self.proxy = proxy
        self.request = request
        self.seen = seen

    async def go(self) -> web.StreamResponse:
        """To the server and back, as if nothing were between."""
        proxy, seen = self.proxy, self.seen
        headers = {
            name: text for name, text in self.request.headers.items() if name.lower() not in HOP_BY_HOP
        }
        try:
            async with proxy.session.request(
                seen.method, proxy.upstream + self.request.raw_path, data=seen.body or None, headers=headers
            ) as answer:
                seen.carried_out = answer.status
                if seen.kind == WATCH:
                    return await self._stream(answer)
                content = await answer.read()
        except (aiohttp.ClientError, OSError):
            return self.cut()  # the server is away, or went away
        passed = {name: text for name, text in answer.headers.items() if name.lower() not in HOP_BY_HOP}
        return web.Response(status=answer.status, body=content, headers=passed)

    async def _stream(self, answer: aiohttp.ClientResponse) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers={"Content-Type": "application/json"})
        self.seen.status = answer.status
        await response.prepare(self.request)
        try:
            async for chunk in answer.content.iter_any():
                await response.write(chunk)
        except (aiohttp.ClientError, OSError):
            return self.cut()
        return response

    def cut(self) -> web.StreamResponse:
        """Ends the connection without a word."""
        self.seen.status = 0
        if self.request.transport is not None:
            self.request.transport.abort()
        return web.Response(status=599)  # nobody reads it


class FaultyProxy:
    """Use it as a context manager. Its methods may be called from the test's thread."""

    def __init__(self, plane: ControlPlane, name: str = "proxy") -> None:
        (port,) = free_ports(1)
        self.upstream = plane.server.url
        self.seen: list[Seen] = []
        self.server = Server(f"https://{LOOPBACK}:{port}", plane.authority.certificate)
        self.token: str = token_in(known_identity(plane))
        self.kubeconfig = self.server.kubeconfig(plane.folder / f"{name}-{port}.kubeconfig", self.token)
        self._port = port
        self._plane = plane
        self._pair = plane.authority.server(f"{name}-{port}")
        self._rules: list[Rule] = []
        self._open: dict[int, Passage] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)

    def __enter__(self) -> FaultyProxy:
        self._thread.start()
        self._call(self._start())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._call(self._stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def rule(self, wanted: Wanted, act: Act, times: int | None = None) -> Rule:
        """From now on; earlier rules go first."""
        made = Rule(wanted, act, times)
        self._rules.append(made)
        return made

    def drop(self, rule: Rule) -> None:
        """Takes a rule back. Requests it has in its hands stay there."""
        self._rules.remove(rule)

    def cut(self, wanted: Wanted = WATCH) -> int:
        """Ends the connections of such requests that are under way; how many."""

        async def now() -> int:
            rule = Rule(wanted, cut)
            found = [each for each in self._open.values() if rule.takes(each.seen)]
            for passage in found:
                passage.cut()
            return len(found)

        return self._call(now())

    def requests(self, kind: str, resource: str = "") -> list[Seen]:
        return [each for each in list(self.seen) if each.kind == kind and resource in ("", each.resource)]

    def under_way(self, kind: str) -> list[Seen]:
        return [each.seen for each in list(self._open.values()) if each.seen.kind == kind]

    async def _start(self) -> None:
        trust = ssl.create_default_context(cafile=str(self._plane.authority.certificate))
        self.session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, ssl=trust),
            timeout=aiohttp.ClientTimeout(total=None),
        )
        app = web.Application(client_max_size=1 << 24)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(self._pair.certificate, self._pair.key)
        await web.TCPSite(self._runner, LOOPBACK, self._port, ssl_context=tls).start()

    async def _stop(self) -> None:
        for passage in list(self._open.values()):
            passage.cut()
        await self._runner.cleanup()
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await self.session.close()
        await asyncio.sleep(CLOSING_SECONDS)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        seen = await noted(request)
        self.seen.append(seen)
        passage = Passage(self, request, seen)
        self._open[id(passage)] = passage
        try:
            rule = next((each for each in list(self._rules) if each.takes(seen)), None)
            if rule is None:
                response = await passage.go()
            else:
                rule.used.append(seen)
                response = await rule.act(passage)
            seen.status = 0 if response.status == 599 else response.status
            return response
        finally:
            seen.answered_at = time.monotonic()
            del self._open[id(passage)]

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        done: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return done.result(ENDED_SECONDS)


async def noted(request: web.Request) -> Seen:
    query, path, method = dict(request.query), request.path, request.method
    kind = OTHER
    if path.endswith("/binding"):
        kind = BIND
    elif "/leases" in path:
        kind = LEASE
    elif "events.k8s.io" in path:
        kind = EVENT
    elif method == "GET" and query.get("watch") == "true":
        kind = WATCH
    elif method == "GET" and "limit" in query:
        kind = LIST
    at = time.monotonic()
    token = request.headers.get("Authorization", "").removeprefix("Bearer ")
    return Seen(kind, method, path, query, token, await request.read(), at)


def known_identity(plane: ControlPlane) -> Path:
    """The kubeconfig of Mooring's account, made once for a control plane: that takes a second."""
    made = plane.folder / f"{NAMESPACE}-{NAME}.kubeconfig"
    return made if made.exists() else identity(plane)


def token_in(kubeconfig: Path) -> str:
    """The bearer token of a kubeconfig's only user."""
    return str(json.loads(kubeconfig.read_text())["users"][0]["user"]["token"])


# what becomes of a request


def answer(code: int, message: str, *, reason: str = "", headers: Iterable[tuple[str, str]] = ()) -> Act:
    """Answered here; the server never hears of it."""
    status: Object = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    status |= {"message": message, "reason": reason}

    async def act(passage: Passage) -> web.StreamResponse:
        return web.json_response(status, status=code, headers=dict(headers))

    return act


def error_event(code: int, message: str, *, reason: str) -> Act:
    """A watch that begins well and ends at once with an ERROR event."""
    said = {"kind": "Status", "apiVersion": "v1", "code": code, "message": message, "reason": reason}
    line = json.dumps({"type": "ERROR", "object": said}) + "\n"

    async def act(passage: Passage) -> web.StreamResponse:
        return web.Response(text=line, content_type="application/json")

    return act


def delay(seconds: float) -> Act:
    """Passed on, later."""

    async def act(passage: Passage) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return await passage.go()

    return act


async def cut(passage: Passage) -> web.StreamResponse:
    """The server never hears of it, and the connection ends."""
    return passage.cut()


async def lose_answer(passage: Passage) -> web.StreamResponse:
    """The server carries it out, and the connection ends instead of an answer."""
    await passage.go()
    return passage.cut()


def instead(code: int, message: str) -> Act:
    """The server carries it out, and another answer comes back."""
    other = answer(code, message)

    async def act(passage: Passage) -> web.StreamResponse:
        await passage.go()
        return await other(passage)

    return act


async def swallow(passage: Passage) -> web.StreamResponse:
    """Nothing comes back, ever."""
    await asyncio.Event().wait()
    raise AssertionError


def hold(until: threading.Event, then: Act | None = None) -> Act:
    """Passed on when the test says so, or treated in another way then."""

    async def act(passage: Passage) -> web.StreamResponse:
        while not until.is_set():
            await asyncio.sleep(LOOK_SECONDS)
        return await (then(passage) if then is not None else passage.go())

    return act
