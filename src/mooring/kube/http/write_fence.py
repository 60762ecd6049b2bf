"""Lets nothing be written once this scheduler may no longer lead, however late it finds out.

The question is asked for each request, just before it is sent: after waiting for its turn, and again for
each retry. So a process that was stopped for a while does not go on writing when it comes back.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Any

from mooring.errors import ApiError
from mooring.kube.http.answer_parser import Answer
from mooring.kube.http.transport import Check, Request, Sender, Stream

MESSAGE = "this scheduler no longer leads, so nothing is written"


class NotLeading(ApiError):
    """A write that was not sent because another scheduler may lead by now."""


class Fenced:
    """A sender of requests that only reads unless it is allowed to write."""

    def __init__(self, sender: Sender, allowed: Callable[[], bool]) -> None:
        self._sender = sender
        self._allowed = allowed

    def ask(self, request: Request, check: Check | None = None) -> Coroutine[Any, Any, Answer]:
        """Whether it is allowed is asked when the request has its turn."""
        return self._sender.ask(request, check if request.method == "GET" else self._check)

    def follow(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Whatever goes on is read only."""
        return self._sender.follow(request)

    def _check(self) -> None:
        if not self._allowed():
            raise NotLeading(0, MESSAGE)
