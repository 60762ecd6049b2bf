"""A hostile client: many connections to one port that do what no honest one does."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

from e2e.process import LOOPBACK

Attack = Callable[[int], None]
PATIENCE_S = 5
HELD: list[socket.socket] = []


def trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


TLS = trusting()


def connected(port: int) -> socket.socket:
    return socket.create_connection((LOOPBACK, port), timeout=PATIENCE_S)


def secured(raw: socket.socket) -> ssl.SSLSocket:
    return TLS.wrap_socket(raw)


def silence(port: int) -> None:
    """Connects, says nothing, stays."""
    HELD.append(connected(port))


def half_a_request(port: int) -> None:
    """Ends the handshake and never the headers."""
    with ExitStack() as stack:
        wire = stack.enter_context(secured(stack.enter_context(connected(port))))
        wire.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-More: ")
        stack.pop_all()
        HELD.append(wire)


def anonymous(port: int) -> None:
    """Asks for what needs credentials, again and again, each time another path."""
    with connected(port) as raw, secured(raw) as wire:
        wire.sendall(b"GET /metrics/%d HTTP/1.1\r\nHost: x\r\n\r\n" % id(wire) * 20)
        wire.recv(10_000)


def made_up_token(port: int) -> None:
    with connected(port) as raw, secured(raw) as wire:
        wire.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer t%d\r\n\r\n" % id(wire))
        wire.recv(10_000)


def endless_headers(port: int) -> None:
    with connected(port) as raw, secured(raw) as wire:
        for _ in range(1000):
            wire.sendall(b"X-Header: " + b"x" * 1000 + b"\r\n")


def plain_text(port: int) -> None:
    with connected(port) as wire:
        wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        wire.recv(1000)


def endless_body(port: int) -> None:
    with connected(port) as raw, secured(raw) as wire:
        wire.sendall(b"PUT /debug/flags/v HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
        for _ in range(1000):
            wire.sendall(b"x" * 10_000)


ATTACKS: tuple[Attack, ...] = (
    silence, half_a_request, anonymous, made_up_token, endless_headers, plain_text, endless_body,
)  # fmt: skip


@contextmanager
def besieged(port: int, each: int = 2) -> Iterator[threading.Event]:
    """Every attack, by several threads, over and over; the event is set when it is over."""
    over = threading.Event()

    def attack(how: Attack) -> None:
        while not over.is_set():
            with suppress(OSError):
                how(port)
            while len(HELD) > 2000:
                HELD.pop(0).close()

    threads = [threading.Thread(target=attack, args=(how,)) for how in ATTACKS for _ in range(each)]
    for thread in threads:
        thread.start()
    try:
        yield over
    finally:
        over.set()
        for thread in threads:
            thread.join(60)
        while HELD:
            HELD.pop().close()
