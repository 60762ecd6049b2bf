"""Who may read what: paths open to all, and everything else by leave of an authorizer.

Answers are the API server's: 401 for somebody unknown, 403 for somebody who may not, each with a Status.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from enum import Enum

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from mooring.web.door import Caller

ANONYMOUS = "system:anonymous"


class Credentials(msgspec.Struct, frozen=True):
    """What a client shows: a bearer token, or a certificate that names a user and groups; or nothing.

    `uid` and `extra` come with a user that a front proxy vouches for.
    """

    token: str = ""
    user: str = ""
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


class Answer(Enum):
    ALLOWED = 200
    UNKNOWN = 401  # the token is nobody's
    DENIED = 403
    BUSY = 429  # too much is asked already
    FAILED = 500  # nobody could be asked


class Verdict(msgspec.Struct, frozen=True):
    answer: Answer
    user: str = ANONYMOUS
    why: str = ""


Authorize = Callable[[Credentials, str, str], Awaitable[Verdict]]  # who, verb, path
Identify = Callable[[web.Request], Credentials]


def is_open(path: str, open_paths: Sequence[str]) -> bool:
    """Whether a path needs no leave. A pattern that ends in `*` stands for everything below it."""
    return any(path == each or (each.endswith("*") and path.startswith(each[:-1])) for each in open_paths)


def guarded(authorize: Authorize | None, open_paths: Sequence[str], credentials_of: Identify) -> Middleware:
    """Lets requests through that may pass. Without an authorizer only open paths are served."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if is_open(request.path, open_paths):
            return _last(await handler(request))
        verb = request.method.lower()
        who = credentials_of(request)
        verdict = Verdict(Answer.DENIED) if authorize is None else await authorize(who, verb, request.path)
        if verdict.answer is not Answer.ALLOWED:
            return _last(refusal(verdict, verb, request.path))
        make_known(request)
        return await handler(request)

    return guard


def make_known(request: web.Request) -> None:
    """Whoever was allowed something is no stranger: the connection may stay, and send what it likes."""
    caller = request.transport.get_protocol() if request.transport is not None else None
    if isinstance(caller, Caller):
        caller.is_known = True


def _last(answer: web.StreamResponse) -> web.StreamResponse:
    """Strangers get one answer a connection: the next costs them a handshake, and waits for its turn."""
    answer.force_close()
    return answer


def refusal(verdict: Verdict, verb: str, path: str) -> web.Response:
    code = verdict.answer.value
    if verdict.answer is Answer.UNKNOWN:
        return _status(code, "Unauthorized", "Unauthorized")
    if verdict.answer is Answer.DENIED:
        why = f": {verdict.why}" if verdict.why else ""
        return _status(
            code, "Forbidden", f'forbidden: User "{verdict.user}" cannot {verb} path "{path}"{why}'
        )
    if verdict.answer is Answer.BUSY:
        answer = _status(code, "TooManyRequests", "too many requests, please try again later")
        answer.headers["Retry-After"] = "1"
        return answer
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
