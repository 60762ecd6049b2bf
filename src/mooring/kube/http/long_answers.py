"""An answer off the wire, and the words for there being none."""

from __future__ import annotations

import asyncio
import os
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping

import aiohttp
from yarl import URL

from mooring.errors import Unreachable
from mooring.kube.http.answer_parser import Fields
from mooring.kube.http.bandwidth import Line
from mooring.kube.http.channels import Channels
from mooring.kube.http.sockets import Gate

CLOSE_S = 0.001  # after a burst that did not let us wait for longer than this
GZIP = 16 + zlib.MAX_WBITS  # as zlib names the format
GATHER_S = 0.002  # the next one is given so long to grow
MOST_BYTES = 256 * 1024 * 1024  # of a line; an object is never as large
ENDLESS = "a line of the answer does not end"


class LongAnswer:
    """What the server answers, read as it comes. Its connection is given back by `release`."""

    __slots__ = ("_answer", "_channels", "_gate", "_line", "_silence_ends", "fields", "headers", "status")

    def __init__(
        self, answer: aiohttp.ClientResponse, channels: Channels, line: Line, *, silence_ends: bool
    ) -> None:
        self._line = line
        self._silence_ends = silence_ends
        self.status: int = answer.status
        self.fields: Fields = answer.raw_headers
        self.headers: Mapping[str, str] = answer.headers
        self._answer = answer
        self._channels = channels
        self._gate: Gate | None = None

    async def read(self) -> bytes:
        loop = asyncio.get_running_loop()
        try:
            began = loop.time()
            body = await self._answer.read()
            is_packed = self.headers.get("Content-Encoding") == "gzip"
            self._line.carried(len(body), loop.time() - began, packed=is_packed)
            return zlib.decompress(body, GZIP) if is_packed else body
        except Exception as error:  # whatever it is, there is no answer
            self._doubt(error)
            raise unreachable(self._answer.method, self._answer.url, error) from error

    async def bursts(self) -> AsyncIterator[list[bytes]]:
        """Splits what comes, however it comes: aiohttp's own lines may not be longer than its buffer.

        What follows a burst closely is gathered for a moment: each burst costs its reader a turn.
        """
        parts: list[bytes] = []  # of a line that has not ended yet
        size = 0  # of those
        loop = asyncio.get_running_loop()
        ready = loop.time()
        try:
            async for chunk in self._answer.content.iter_any():
                lines = chunk.split(b"\n")
                if len(lines) > 1:
                    if parts:
                        lines[0] = b"".join([*parts, lines[0]])
                        parts.clear()
                    parts.append(lines.pop())
                    size = len(parts[0])
                    is_close = loop.time() - ready < CLOSE_S
                    yield lines
                    if is_close:
                        await self._let_grow()
                    ready = loop.time()
                else:
                    parts.append(chunk)
                    size += len(chunk)
                    if size > MOST_BYTES:
                        raise ValueError(ENDLESS)
        except Exception as error:
            self._doubt(error)
            if self._silence_ends and isinstance(error, aiohttp.SocketTimeoutError) and not any(parts):
                return
            raise unreachable(self._answer.method, self._answer.url, error) from error
        if rest := b"".join(parts):
            yield [rest]

    async def _let_grow(self) -> None:
        """What comes meanwhile stays with the system: nobody is woken for it."""
        if self._gate is None:
            connection = self._answer.connection
            transport = connection.transport if connection is not None else None
            self._gate = Gate(transport.get_extra_info("socket") if transport is not None else None)
        self._gate.close()
        try:
            await asyncio.sleep(GATHER_S)
        finally:
            self._gate.open()

    def _doubt(self, error: Exception) -> None:
        """One connection that died without a word is seldom the only one."""
        if isinstance(error, TimeoutError):
            self._channels.doubt()

    async def release(self) -> None:
        """What is not read to its end is cut off: its connection is of no more use."""
        if self._gate is not None:
            self._gate.remove()
        if self._answer.content.at_eof():
            self._answer.release()
        else:
            self._answer.close()
        await self._channels.give_back()


def unreachable(method: str, url: URL, error: Exception) -> Unreachable:
    """No answer, with the reason in words near to client-go's."""
    never_sent = isinstance(
        error, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError | aiohttp.ClientHttpProxyError
    )
    message = f'{method.capitalize()} "{url}": {_why(error)}'
    return Unreachable(0, message, sent=not never_sent)


def _why(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"tls: failed to verify certificate: {_certificate_words(error.certificate_error)}"
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return "dial tcp: i/o timeout"
    if isinstance(error, TimeoutError):
        return "context deadline exceeded (Client.Timeout exceeded while awaiting an answer)"
    if isinstance(error, aiohttp.ClientConnectorError) and error.os_error.errno:
        what = os.strerror(error.os_error.errno) if error.os_error.errno > 0 else str(error.os_error)
        return f"dial tcp {error.host}:{error.port}: {what.lower()}"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "EOF"
    return str(error) or type(error).__name__


def _certificate_words(error: Exception) -> str:
    return error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else str(error)
