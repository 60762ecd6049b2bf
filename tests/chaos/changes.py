"""Every change of every node and pod in the order it was made, read from etcd itself.

etcd keeps all of it (nothing compacts it here) and goes on where it was when it has been killed, so nothing
is missed whoever dies, and there is one order for everything. Objects are kept as JSON for this: `FLAGS`.
"""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType

from e2e.api import Object
from e2e.control_plane import ControlPlane
from e2e.process import LOOPBACK

FLAGS = ("--storage-media-type=application/json", "--etcd-compaction-interval=0")  # of the API server
FIRST, BEYOND = "/registry/minions/", "/registry/pods0"  # all keys between: nodes, pods, and little else
NODES, PODS = "minions", "pods"
PAUSE_SECONDS = 0.05
SILENT_SECONDS = 600


@dataclass(frozen=True)
class Change:
    revision: int
    at: float  # when it was heard of, on `time.monotonic`
    kind: str
    key: str  # namespace/name, or the name of a node
    object: Object | None  # None: it is gone


class Changes:
    """Tells `take` of each change, in a thread of its own. Use it as a context manager."""

    def __init__(self, plane: ControlPlane, take: Callable[[Change], None]) -> None:
        user = plane.authority.user("reader-of-changes")
        self._tls = ssl.create_default_context(cafile=str(plane.authority.certificate))
        self._tls.load_cert_chain(user.certificate, user.key)
        self._port = plane.ports["etcd"]
        self._take = take
        self._next = 1
        self._over = threading.Event()
        self._socket: socket.socket | None = None
        self._thread = threading.Thread(target=self._follow, name="changes", daemon=True)
        self.failed = ""

    def __enter__(self) -> Changes:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._over.set()
        if (open_now := self._socket) is not None:
            with suppress(OSError):
                open_now.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def _follow(self) -> None:
        while not self._over.is_set():
            try:
                self._watch()
            except (OSError, http.client.HTTPException, json.JSONDecodeError):
                pass  # etcd is away, or went away in the middle of a line
            except Exception as error:
                self.failed = f"changes are not followed any more: {error!r}"
                raise
            self._over.wait(PAUSE_SECONDS)

    def _watch(self) -> None:
        wanted = {"key": encoded(FIRST), "range_end": encoded(BEYOND), "start_revision": self._next}
        connection = http.client.HTTPSConnection(
            LOOPBACK, self._port, timeout=SILENT_SECONDS, context=self._tls
        )
        try:
            connection.request("POST", "/v3/watch", json.dumps({"create_request": wanted}))
            self._socket = connection.sock
            response = connection.getresponse()
            while not self._over.is_set() and (line := response.readline()):
                self._hear(json.loads(line)["result"])
        finally:
            self._socket = None
            connection.close()

    def _hear(self, result: Object) -> None:
        assert not result.get("canceled"), result
        at = time.monotonic()
        for event in result.get("events", ()):
            found = change(event, at)
            self._next = found.revision + 1
            if found.kind in (NODES, PODS):
                self._take(found)


def change(event: Object, at: float) -> Change:
    stored = event["kv"]
    _, _, kind, key = base64.b64decode(stored["key"]).decode().split("/", 3)
    gone = event.get("type") == "DELETE" or kind not in (NODES, PODS)
    body = None if gone else json.loads(base64.b64decode(stored["value"]))
    if body is not None:
        body["metadata"]["resourceVersion"] = stored["mod_revision"]
    return Change(int(stored["mod_revision"]), at, kind, key, body)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
