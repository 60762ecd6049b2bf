"""A transport that answers from a script, without any network."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, TypeVar

from mooring.errors import ApiError
from mooring.kube.http import answer_parser
from mooring.kube.http.transport import Check, Request, Stream

T = TypeVar("T")


class Answer:
    """One answer. `then` is what happens after the last byte instead of an orderly end."""

    def __init__(
        self,
        status: int = 200,
        body: bytes | Any = b"{}",
        headers: Mapping[str, str] | None = None,
        *,
        then: Exception | None = None,
    ) -> None:
        self.status = status
        self.headers: Mapping[str, str] = headers or {}
        self._body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self._then = then

    async def read(self) -> bytes:
        if self._then is not None:
            raise self._then
        return self._body

    async def bursts(self) -> AsyncIterator[list[bytes]]:
        yield self._body.split(b"\n")
        if self._then is not None:
            raise self._then


class Following(ABC):
    """A sender that answers in one way, whether the answer is wanted whole or as it comes."""

    @abstractmethod
    def follow(self, request: Request) -> AbstractAsyncContextManager[Stream]: ...

    async def ask(self, request: Request, check: Check | None = None) -> answer_parser.Answer:
        if check is not None:
            check()
        async with self.follow(request) as found:
            fields = [(name.encode(), value.encode()) for name, value in found.headers.items()]
            return answer_parser.Answer(found.status, fields, await found.read())


class Script(Following):
    """Answers one after the other; an exception is raised instead of an answer."""

    def __init__(self, *answers: Answer | Exception) -> None:
        self.asked: list[Request] = []
        self.open = 0
        self._answers = iter(answers)

    @asynccontextmanager
    async def follow(self, request: Request) -> AsyncIterator[Stream]:
        self.asked.append(request)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        self.open += 1
        try:
            yield answer
        finally:
            self.open -= 1


class Sleep:
    """Sleeps no time at all, and remembers how long it should have been."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


def refusal(code: int, reason: str = "", message: str = "no", **headers: str) -> Answer:
    """What the API server says when it does not do what it is asked."""
    body = {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}
    return Answer(code, body, {name.replace("_", "-"): value for name, value in headers.items()})


def lines(events: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


async def each(bursts: AsyncIterator[list[T]]) -> AsyncIterator[T]:
    """What comes together, one by one."""
    async for burst in bursts:
        for one in burst:
            yield one


async def drain(stream: AsyncIterator[T]) -> tuple[list[T], ApiError | None]:
    """All that comes, and the error it ends with if it does."""
    seen: list[T] = []
    while True:
        try:
            seen.append(await anext(stream))
        except StopAsyncIteration:
            return seen, None
        except ApiError as error:
            return seen, error
