"""What becomes of connections on a wire, on loopback."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from chaos.wire import Wire
from e2e.process import LOOPBACK

ANSWER_S = 10.0
SILENCE_S = 0.1  # nothing can be waited for but time


@pytest.fixture
def echo() -> Iterator[int]:
    """A server that says everything again; its port."""
    with socket.create_server((LOOPBACK, 0)) as server, ExitStack() as stack:

        def serve(client: socket.socket) -> None:
            with client, suppress(OSError):
                while chunk := client.recv(1024):
                    client.sendall(chunk)

        def accept() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                thread = threading.Thread(target=serve, args=(client,), daemon=True)
                thread.start()
                stack.callback(thread.join)

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        accepting.join()


@pytest.fixture
def wire(echo: int) -> Iterator[Wire]:
    with Wire(echo) as wire:
        yield wire


def dial(wire: Wire) -> socket.socket:
    return socket.create_connection((LOOPBACK, wire.port), timeout=ANSWER_S)


def heard(wire: Wire) -> bytes:
    with dial(wire) as client:
        return client.recv(1024)


def says(client: socket.socket, text: bytes = b"hello") -> bytes:
    client.sendall(text)
    return client.recv(1024)


def is_silent(client: socket.socket) -> bool:
    client.settimeout(SILENCE_S)
    try:
        client.recv(1024)
    except TimeoutError:
        return True
    finally:
        client.settimeout(ANSWER_S)
    return False


def test_bytes_go_through(wire: Wire) -> None:
    with dial(wire) as client:
        assert says(client) == b"hello"


def test_a_cut_ends_what_is_there_and_nothing_else(wire: Wire) -> None:
    with dial(wire) as client:
        assert says(client) == b"hello"
        assert wire.cut() == 1
        with pytest.raises(ConnectionResetError):
            client.recv(1024)
    with dial(wire) as client:
        assert says(client) == b"hello"


def test_a_forgotten_connection_is_silent_and_new_ones_work(wire: Wire) -> None:
    with dial(wire) as old, dial(wire) as new_enough:
        assert says(old) == b"hello"
        assert says(new_enough) == b"hello"
        assert wire.forget() == 2
        old.sendall(b"is anybody there?")
        assert is_silent(old)
        with dial(wire) as new:
            assert says(new) == b"hello"
        assert is_silent(new_enough)


def test_what_is_held_is_silent_and_ends_with_a_reset(wire: Wire) -> None:
    with dial(wire) as client:
        assert says(client) == b"hello"
        wire.hold()
        client.sendall(b"wait")
        assert is_silent(client)
        with dial(wire) as late:
            late.sendall(b"wait, too")
            assert is_silent(late)
            wire.let_go()
            assert late.recv(1024) == b"wait, too"
        with pytest.raises(ConnectionResetError):
            client.recv(1024)


def test_nobody_listens_behind_it() -> None:
    with socket.create_server((LOOPBACK, 0)) as gone:
        port = gone.getsockname()[1]
    with Wire(port) as wire, pytest.raises(ConnectionResetError):
        heard(wire)
