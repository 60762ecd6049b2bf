"""A real extender on the loopback interface, answered by a function of the test."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

GZIP = b"\x1f\x8b"
Reply = Callable[[str, Any], tuple[int, bytes]]  # path and body to code and answer


class Server(ThreadingHTTPServer):
    """Keeps what it was asked."""

    daemon_threads = True

    def __init__(self, reply: Reply, tls: ssl.SSLContext | None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reply = reply
        self.encoding = ""  # what it says answers are encoded as, whatever they are
        self.asked: list[tuple[str, dict[str, str], Any]] = []  # path, headers, body
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up, or does not like the certificate, is part of a test."""


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append((self.path, dict(self.headers), body))
        code, answer = self.server.reply(self.path, body)
        self.send_response(code)
        if answer.startswith(GZIP) or self.server.encoding:
            self.send_header("Content-Encoding", self.server.encoding or "gzip")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args: Any) -> None:
        """Tests are quiet."""


@contextmanager
def serving(reply: Reply, tls: ssl.SSLContext | None = None) -> Iterator[Server]:
    with Server(reply, tls) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def says(data: Any, code: int = 200) -> Reply:
    return lambda path, body: (code, json.dumps(data).encode())
