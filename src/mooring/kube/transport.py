"""Sends requests to the API server: one class with one method, `send`.

Whoever has no answer in time gets `Unreachable`; every other answer, good or bad, is a `Response`.
Credentials are renewed once when the server does not accept them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

Query = tuple[tuple[str, str], ...]


class Request(msgspec.Struct, frozen=True):
    """What to ask. `timeout` is for the whole answer; None is for watches, which end when they end."""

    method: str
    path: str
    query: Query = ()
    body: bytes = b""
    content_type: str = "application/json"
    timeout: float | None = 30.0
    idle: float | None = None  # seconds without a byte after which the server counts as gone
    compress: bool = False  # whether the answer is worth compressing


class Response(Protocol):
    """What the server answers."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def read(self) -> bytes:
        """All of it."""

    def lines(self) -> AsyncIterator[bytes]:
        """Line by line, as they come, without the line ends. Lines may be of any length."""


class Sender(Protocol):
    """Whatever can send a request: a Transport, or something in a test."""

    def send(self, request: Request) -> AbstractAsyncContextManager[Response]: ...
