"""Asks extenders over HTTP. Every call ends by its extender's timeout, with an answer or an error."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Self

import aiohttp

from mooring.config.scheduler import Extender
from mooring.errors import MooringError
from mooring.extender import bounded_answer
from mooring.extender.tls import tls_context
from mooring.extender.wire import AnswerError, BindingArgs, check_bound, encode, named
from mooring.model.objects import Pod
from mooring.model.texts import clipped

HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "gzip"}  # as Go's client asks
REFUSED = "failed {verb} with extender at URL {url}, code {code}"
TOO_LATE = 'Post "{url}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
NOT_ALLOWED = "this scheduler no longer leads, so no extender binds for it"
UNREACHABLE = 'Post "{url}": {why}'
TOO_LONG = "extender at URL {url} answers with more than {most} bytes, which is more than it was asked about"

# How long an answer may be: whoever is shown nodes in full may give them back with all the API server has of
# them, and all may say why a node is rejected.
ROOM, ROOM_FOR_A_NODE, TIMES_THE_QUESTION = 1 << 20, 4096, 4


class ExtenderError(MooringError):
    """An extender gave no answer; the message is kube-scheduler's."""

    def __init__(self, what: str) -> None:
        super().__init__(clipped(what))


class ExtenderClient:
    """The extenders of one configuration, by their number in it. They bind only while `may_bind` says so."""

    def __init__(self, extenders: Sequence[Extender], *, may_bind: Callable[[], bool] = lambda: True) -> None:
        self._extenders = extenders
        self._may_bind = may_bind
        self._tls = [
            tls_context(extender, f"extenders[{number}]") for number, extender in enumerate(extenders)
        ]
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def ask(self, number: int, verb: str, body: bytes, nodes: int = 1) -> bytes:
        """The bytes an extender answers with, or ExtenderError. It is asked about so many nodes."""
        extender = self._extenders[number]
        url = f"{extender.url_prefix.rstrip('/')}/{verb}"
        if self._session is None:
            # Only here: it belongs to the loop that runs. Nobody waits for a connection of somebody else.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0), auto_decompress=False
            )
        tls, most = extender.tls_config, ROOM + ROOM_FOR_A_NODE * nodes + TIMES_THE_QUESTION * len(body)
        try:
            async with self._session.post(
                url,
                data=body,
                headers=HEADERS,
                timeout=aiohttp.ClientTimeout(total=extender.http_timeout),
                ssl=self._tls[number] or True,
                server_hostname=tls.server_name if tls is not None and tls.server_name else None,
            ) as response:
                if response.status != 200:
                    raise ExtenderError(REFUSED.format(verb=verb, url=url, code=response.status))
                return await bounded_answer.read(response, most)
        except TimeoutError:
            raise ExtenderError(TOO_LATE.format(url=url)) from None
        except ExtenderError:
            raise
        except bounded_answer.TooLong:
            raise ExtenderError(TOO_LONG.format(url=url, most=most)) from None
        except Exception as error:  # whatever it is, there is no answer
            raise ExtenderError(UNREACHABLE.format(url=url, why=_why(error))) from error

    async def bind(self, number: int, pod: Pod, node_name: str) -> bool:
        """Has an extender bind a pod. False: it failed, and may, so somebody else has to bind it."""
        extender = self._extenders[number]
        wanted = BindingArgs(pod.name, pod.namespace, pod.uid, node_name)
        if not self._may_bind():
            raise ExtenderError(NOT_ALLOWED)
        try:
            check_bound(await self.ask(number, extender.bind_verb, encode(wanted)))
        except (ExtenderError, AnswerError) as error:
            if extender.ignorable:
                return False
            raise ExtenderError(named(extender.url_prefix, error)) from error
        return True

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


def _why(error: Exception) -> str:
    """What keeps a connection from being made, in Go's words where the system says what it is."""
    if type(error) is aiohttp.ClientConnectorError and error.os_error.errno:
        place, what = f"{error.host}:{error.port}", os.strerror(error.os_error.errno).lower()
        return f"dial tcp {place}: connect: {what}"
    return str(error) or type(error).__name__
