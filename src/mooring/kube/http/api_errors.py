"""What the API server answers when it does not do what was asked, as a typed error with its own words."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

import msgspec

from mooring.errors import (
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)

LONGEST_WAIT_S = 30.0  # whatever a server, or a proxy before it, asks for
MOST_WORDS = 500  # characters kept of an answer that is not the API server's own (a proxy's page)

_TYPES: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: TooManyRequests,
}
_TYPES_BY_REASON: dict[str, type[ApiError]] = {"Expired": Gone, "Gone": Gone}


class Details(msgspec.Struct, frozen=True, rename="camel"):
    retry_after_seconds: int = 0


class Status(msgspec.Struct, frozen=True):
    """The API server's own account of what went wrong."""

    kind: str = ""
    code: int = 0
    message: str = ""
    reason: str = ""
    details: Details | None = None


_decode = msgspec.json.Decoder(Status).decode


def error_from(status: int, body: bytes, headers: Mapping[str, str]) -> ApiError:
    """The error an answer with an HTTP code of 300 or more stands for."""
    said = _status_in(body)
    if said is None or said.kind != "Status":
        said = Status("Status", status, _words(status, body))
    return _error(said, status, _retry_after(headers.get("Retry-After", "")))


def error_of_event(body: bytes | msgspec.Raw) -> ApiError:
    """The error an ERROR event of a watch stands for: its object is a Status."""
    said = _status_in(bytes(body))
    if said is None:
        return Unreachable(0, "the watch ends with an error that cannot be read")
    return _error(said, said.code or 500, None)


def _error(said: Status, code: int, retry_after: float | None) -> ApiError:
    if retry_after is None and said.details and said.details.retry_after_seconds > 0:
        retry_after = said.details.retry_after_seconds
    if retry_after is not None:
        retry_after = float(min(retry_after, LONGEST_WAIT_S))
    kind = _TYPES_BY_REASON.get(said.reason) or _TYPES.get(code, ApiError)
    return kind(code, said.message or _phrase(code), said.reason, retry_after)


def _status_in(body: bytes) -> Status | None:
    try:
        return _decode(body)
    except (msgspec.DecodeError, RecursionError):
        return None


def _words(status: int, body: bytes) -> str:
    text = body.decode("utf-8", "replace").strip()
    return f"{_phrase(status)}: {text[:MOST_WORDS]}" if text else _phrase(status)


def _phrase(status: int) -> str:
    try:
        return f"the server answers {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"the server answers {status}"


def _retry_after(text: str) -> float | None:
    """Seconds to wait. Anything but a number is passed over, as client-go does."""
    text = text.strip()
    return float(text) if text.isascii() and text.isdigit() else None
