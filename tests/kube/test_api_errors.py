"""What the server says when it says no."""

from __future__ import annotations

import json
from typing import Any

import pytest

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
from mooring.kube.http.api_errors import LONGEST_WAIT_S, error_from, error_of_event


def status(code: int, reason: str = "", message: str = "its own words", **details: Any) -> bytes:
    return json.dumps(
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "code": code,
            "reason": reason,
            "message": message,
            "details": details,
        }
    ).encode()


@pytest.mark.parametrize(
    ("code", "reason", "kind"),
    [
        (400, "BadRequest", ApiError),
        (401, "Unauthorized", Unauthorized),
        (403, "Forbidden", Forbidden),
        (404, "NotFound", NotFound),
        (409, "AlreadyExists", Conflict),
        (409, "Conflict", Conflict),
        (410, "Gone", Gone),
        (410, "Expired", Gone),
        (422, "Invalid", Invalid),
        (429, "TooManyRequests", TooManyRequests),
        (500, "InternalError", ApiError),
        (503, "ServiceUnavailable", ApiError),
        (504, "Timeout", ApiError),
    ],
)
def test_each_answer_is_an_error_of_its_own(code: int, reason: str, kind: type[ApiError]) -> None:
    error = error_from(code, status(code, reason), {})
    assert type(error) is kind
    assert (error.code, error.reason, str(error)) == (code, reason, "its own words")
    assert error.retry_after is None


def test_an_expired_list_is_gone_whatever_its_code() -> None:
    assert type(error_from(500, status(500, "Expired"), {})) is Gone


@pytest.mark.parametrize(
    ("header", "details", "seconds"),
    [
        ({"Retry-After": "7"}, {}, 7.0),
        ({"Retry-After": "0"}, {}, 0.0),
        ({}, {"retryAfterSeconds": 3}, 3.0),
        ({"Retry-After": "7"}, {"retryAfterSeconds": 3}, 7.0),
        ({"Retry-After": " 7 "}, {}, 7.0),
        ({"Retry-After": "86400"}, {}, LONGEST_WAIT_S),
        ({"Retry-After": "9" * 5000}, {}, LONGEST_WAIT_S),
        ({}, {"retryAfterSeconds": 86400}, LONGEST_WAIT_S),
        ({}, {"retryAfterSeconds": 10**400}, LONGEST_WAIT_S),
        ({}, {"retryAfterSeconds": -5}, None),
        *(
            ({"Retry-After": text}, {}, None)
            for text in ("soon", "-5", "nan", "inf", "1e9", "1.5", "\u0663", "Thu, 01 Jan 2099 00:02:00 GMT")
        ),
        ({}, {"retryAfterSeconds": 0}, None),
    ],
)
def test_when_to_ask_again(header: dict[str, str], details: dict[str, int], seconds: float | None) -> None:
    error = error_from(429, status(429, **details), header)
    assert error.retry_after == seconds


def test_a_page_that_is_no_status_is_quoted() -> None:
    error = error_from(502, b"<h1>upstream is down</h1>", {})
    assert str(error) == "the server answers 502 Bad Gateway: <h1>upstream is down</h1>"
    assert len(str(error_from(502, b"x" * 100_000, {}))) < 600


@pytest.mark.parametrize(
    "body", [b"", b'{"kind":"Pod"}', b"{", b'{"kind":"Status","code":"x"}', b"[1]", b"[" * 100_000]
)
def test_a_body_that_is_no_status_still_is_the_right_error(body: bytes) -> None:
    error = error_from(404, body, {})
    assert type(error) is NotFound
    assert str(error).startswith("the server answers 404 Not Found")


def test_codes_nobody_knows() -> None:
    assert str(error_from(599, b"", {})) == "the server answers 599"


def test_an_error_event_is_a_typed_error() -> None:
    error = error_of_event(status(410, "Expired", "too old resource version: 1 (2)"))
    assert type(error) is Gone
    assert str(error) == "too old resource version: 1 (2)"


def test_an_error_event_that_cannot_be_read() -> None:
    assert type(error_of_event(b"7")) is Unreachable
