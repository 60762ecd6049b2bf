"""Who may read what: paths open to all, and everything else by leave of an authorizer.

Answers are the API server's: 401 for somebody unknown, 403 for somebody who may not, each with a Status.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

ANONYMOUS = "system:anonymous"


class Credentials(msgspec.Struct, frozen=True):
    """What a client shows: a bearer token, or a certificate that names a user and groups; or nothing."""

    token: str = ""
    user: str = ""
    groups: tuple[str, ...] = ()


class Answer(Enum):
    ALLOWED = 200
    UNKNOWN = 401  # the token is nobody's
    DENIED = 403
    FAILED = 500  # nobody could be asked


class Verdict(msgspec.Struct, frozen=True):
    answer: Answer
    user: str = ANONYMOUS
    why: str = ""


Authorize = Callable[[Credentials, str, str], Awaitable[Verdict]]  # who, verb, path


def is_open(path: str, open_paths: Sequence[str]) -> bool:
    """Whether a path needs no leave. A pattern that ends in `*` stands for everything below it."""
    return any(path == each or (each.endswith("*") and path.startswith(each[:-1])) for each in open_paths)


def guarded(authorize: Authorize | None, open_paths: Sequence[str]) -> Middleware:
    """Lets requests through that may pass. Without an authorizer only open paths are served."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if is_open(request.path, open_paths):
            return await handler(request)
        verb = request.method.lower()
        who = credentials_of(request)
        verdict = Verdict(Answer.DENIED) if authorize is None else await authorize(who, verb, request.path)
        if verdict.answer is Answer.ALLOWED:
            return await handler(request)
        return refusal(verdict, verb, request.path)

    return guard


def credentials_of(request: web.Request) -> Credentials:
    """A certificate goes before a token: it was checked already."""
    certificate = request.transport.get_extra_info("peercert") if request.transport else None
    if certificate:
        return from_certificate(certificate)
    scheme, _, token = request.headers.get("Authorization", "").strip().partition(" ")
    return Credentials(token=token.strip() if scheme.lower() == "bearer" else "")


def from_certificate(certificate: dict[str, Any]) -> Credentials:
    """The common name is the user, organizations are the groups."""
    parts = [part for name in certificate.get("subject", ()) for part in name]
    user = next((value for key, value in parts if key == "commonName"), "")
    return Credentials(user=user, groups=tuple(value for key, value in parts if key == "organizationName"))


def refusal(verdict: Verdict, verb: str, path: str) -> web.Response:
    code = verdict.answer.value
    if verdict.answer is Answer.UNKNOWN:
        return _status(code, "Unauthorized", "Unauthorized")
    if verdict.answer is Answer.DENIED:
        why = f": {verdict.why}" if verdict.why else ""
        return _status(
            code, "Forbidden", f'forbidden: User "{verdict.user}" cannot {verb} path "{path}"{why}'
        )
    return _status(code, "InternalError", f'Internal Server Error: "{path}": {verdict.why}')


def _status(code: int, reason: str, message: str) -> web.Response:
    """A failure, as the API server words it."""
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
    }
    return web.Response(status=code, body=msgspec.json.encode(body), content_type="application/json")
