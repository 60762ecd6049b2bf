"""What is counted of requests, under client-go's names."""

from __future__ import annotations

from itertools import count

import pytest

from kube.scripted import Answer, Script, Sleep, lines, refusal
from mooring.errors import ApiError, Unreachable
from mooring.framework.metrics.meter import FOLD_ABOVE
from mooring.kube.client import Client
from mooring.kube.http import rest_client_metrics as named
from mooring.kube.http.rate_limiter import Limiter
from mooring.kube.http.rest_client_metrics import Traffic
from mooring.kube.resources import PODS

HOST = "api.example:6443"
BOOKMARK = {"type": "BOOKMARK", "object": {}}


def asking(traffic: Traffic, *answers: Answer | Exception) -> Client:
    """A second passes between any two looks at the clock."""
    ticks = count()
    return Client(
        Script(*answers),
        Limiter(5, 1, clock=lambda: 0.0, sleep=Sleep()),
        sleep=Sleep(),
        traffic=traffic,
        clock=lambda: float(next(ticks)),
    )


def told(traffic: Traffic) -> dict[str, dict[tuple[str, ...], float]]:
    """Counts, and how often was observed."""
    found = {family.name: dict(series) for family, series in traffic.counts().items()}
    for family, sampled in traffic.samples().items():
        found[family.name] = {labels: sum(samples.counts) for labels, samples in sampled}
    return found


async def test_what_is_counted() -> None:
    traffic = Traffic(f"https://user@{HOST}/prefix")
    client = asking(
        traffic,
        Answer(200, b"{}"),
        Unreachable(0, "cut"),
        refusal(429, Retry_After="1"),
        Answer(201, b"x" * 300),
        refusal(404),
        Answer(200, lines([BOOKMARK])),
    )
    await client.get(PODS, "a/b")
    await client.create(PODS, "a", b"{...}", retry=True)
    with pytest.raises(ApiError):
        await client.get(PODS, "a/c")
    async for _ in client.watch(PODS, "1"):
        pass
    seen = told(traffic)
    assert seen["rest_client_requests_total"] == {
        ("200", "GET", HOST): 2,
        ("404", "GET", HOST): 1,
        ("<error>", "POST", HOST): 1,
        ("429", "POST", HOST): 1,
        ("201", "POST", HOST): 1,
    }
    assert seen["rest_client_request_retries_total"] == {
        ("<error>", "POST", HOST): 1,
        ("429", "POST", HOST): 1,
    }
    assert seen["rest_client_request_duration_seconds"] == {("GET", HOST): 2, ("POST", HOST): 3}
    assert seen["rest_client_request_size_bytes"] == {("POST", HOST): 3}
    assert seen["rest_client_response_size_bytes"] == {("GET", HOST): 2, ("POST", HOST): 2}
    assert seen["rest_client_rate_limiter_duration_seconds"] == {("GET", HOST): 3, ("POST", HOST): 3}
    sizes = dict(traffic.samples()[named.RESPONSE_SIZE])["POST", HOST]
    assert sizes.counts[2] == 1  # 300 bytes: above 256, up to 512


def test_nothing_is_told_of_what_was_never_asked() -> None:
    assert not any(told(Traffic("https://api")).values())


def test_observations_are_sorted_in_before_they_are_too_many() -> None:
    traffic = Traffic()
    for _ in range(3 * FOLD_ABOVE):
        traffic.limited("GET", 0.0)
        traffic.answered("GET", 200, 0.01, 0, 10)
    ((_, samples),) = traffic.samples()[named.DURATION]
    assert samples.counts[1] == 3 * FOLD_ABOVE
