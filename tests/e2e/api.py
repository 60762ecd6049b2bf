"""The API server as tests see it: JSON over HTTPS, sharing no code with Mooring's client."""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import urlencode

Object = dict[str, Any]

TIMEOUT_SECONDS = 120
IDLE_SECONDS = 20
PAGE = 2000
AT_ONCE = 8
MERGE = "application/merge-patch+json"


class Refused(Exception):
    """The API server said no; `code` is the HTTP status."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


class Api:
    """Requests by path, such as `/api/v1/namespaces/default/pods`. Threads may share it."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext, token: str = "") -> None:
        self.host = host
        self.port = port
        self.tls = tls
        self.token = token
        self.idle: SimpleQueue[tuple[float, http.client.HTTPSConnection]] = SimpleQueue()

    def get(self, path: str, **query: str) -> Object:
        return self.send("GET", with_query(path, query))

    def text(self, path: str) -> str:
        return self.answer("GET", path, None, "").decode()

    def items(self, path: str, **query: str) -> list[Object]:
        """Every object of a list, page by page."""
        return list(self.pages(path, query))

    def pages(self, path: str, query: dict[str, str]) -> Iterator[Object]:
        position = ""
        while True:
            page = self.get(path, **query, limit=str(PAGE), **({"continue": position} if position else {}))
            yield from page.get("items") or ()
            position = page["metadata"].get("continue", "")
            if not position:
                return

    def create(self, path: str, body: Object) -> Object:
        return self.send("POST", path, body)

    def replace(self, path: str, body: Object) -> Object:
        return self.send("PUT", path, body)

    def patch(self, path: str, body: Object, kind: str = MERGE) -> Object:
        return self.send("PATCH", path, body, kind)

    def delete(self, path: str, *, missing_ok: bool = True, grace_seconds: int | None = None) -> None:
        options: Object = {} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}
        try:
            self.send("DELETE", path, options)
        except Refused as refused:
            if refused.code != 404 or not missing_ok:
                raise

    def exists(self, path: str) -> bool:
        try:
            self.get(path)
        except Refused as refused:
            if refused.code == 404:
                return False
            raise
        return True

    def create_all(self, path: str, bodies: Iterable[Object]) -> list[Object]:
        """Many objects of one kind, several at once."""
        return at_once(lambda body: self.create(path, body), bodies)

    def send(
        self, method: str, path: str, body: Object | None = None, kind: str = "application/json"
    ) -> Object:
        encoded = None if body is None else json.dumps(body).encode()
        answer: Object = json.loads(self.answer(method, path, encoded, kind))
        return answer

    def answer(self, method: str, path: str, body: bytes | None, kind: str) -> bytes:
        """Reading is tried again, over a new connection, when the server closed one while it was idle."""
        try:
            return self.exchange(method, path, body, kind)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self.close()
            if method != "GET":
                raise
            return self.exchange(method, path, body, kind)

    def exchange(self, method: str, path: str, body: bytes | None, kind: str) -> bytes:
        connection = self.connection()
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = kind
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            raise
        self.idle.put((time.monotonic(), connection))
        if response.status >= 400:
            raise Refused(response.status, message_of(content))
        return content

    def connection(self) -> http.client.HTTPSConnection:
        """One that was used a moment ago: the server closes those that are idle for long."""
        while True:
            try:
                since, connection = self.idle.get_nowait()
            except Empty:
                return http.client.HTTPSConnection(
                    self.host, self.port, timeout=TIMEOUT_SECONDS, context=self.tls
                )
            if time.monotonic() - since < IDLE_SECONDS:
                return connection
            connection.close()

    def close(self) -> None:
        """Closes what is idle; the next request opens another connection."""
        while not self.idle.empty():
            self.idle.get_nowait()[1].close()


def at_once(do: Callable[[Object], Object], over: Iterable[Object]) -> list[Object]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(do, over))


def with_query(path: str, query: dict[str, str]) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def message_of(content: bytes) -> str:
    """The server's own words: those of a Status when it is one."""
    try:
        status = json.loads(content)
    except ValueError:
        return content.decode(errors="replace")
    return str(status.get("message", status)) if isinstance(status, dict) else str(status)
