"""/healthz, /livez and /readyz, in Kubernetes' own words."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mooring.web.health import (
    PING,
    QUIET_S,
    Check,
    Health,
    Teller,
    handler_sync,
    informer_sync,
    leader_election,
    shutdown,
)
from web.shown import get, metered, serving, talk

STATE = {"synced": False, "stopping": False, "overdue": False}


def health(state: dict[str, bool]) -> Health:
    election = leader_election("kube-scheduler", lambda tolerance: state["overdue"] and tolerance == 20)
    ready = (
        PING,
        shutdown(lambda: state["stopping"]),
        informer_sync(lambda: state["synced"]),
        handler_sync(lambda: state["synced"]),
    )
    return Health(healthz=(PING, election), livez=(PING, election), readyz=ready)


async def ask(path: str, **state: bool) -> tuple[int, str]:
    stage, _ = metered()
    async with talk(serving(stage, health=health(STATE | state))) as client:
        return await get(client, path)


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/informer-sync", "/healthz/ping"])
async def test_all_is_well(path: str) -> None:
    assert await ask(path, synced=True) == (200, "ok")


async def test_verbose() -> None:
    text = "[+]ping ok\n[+]leaderElection ok\nhealthz check passed\n"
    assert await ask("/healthz?verbose") == (200, text)
    assert await ask("/healthz?verbose=1") == (200, text)


async def test_not_ready() -> None:
    code, text = await ask("/readyz")
    assert code == 500
    assert text == (
        "[+]ping ok\n[+]shutdown ok\n[-]informer-sync failed: reason withheld\n"
        "[-]sched-handler-sync failed: reason withheld\nreadyz check failed\n"
    )


async def test_one_check_says_why() -> None:
    assert await ask("/readyz/informer-sync") == (500, "internal server error: informers not synced\n")
    assert (await ask("/readyz/nonsense"))[0] == 404


async def test_excluded() -> None:
    path = "/readyz?exclude=informer-sync&exclude=sched-handler-sync"
    assert await ask(path) == (200, "ok")
    code, text = await ask(f"{path}&verbose&exclude=nonsense")
    assert code == 200
    assert "[+]informer-sync excluded: ok\n" in text
    assert 'warn: some health checks cannot be excluded: no matches for "nonsense"\n' in text


async def test_a_leader_that_hangs() -> None:
    code, text = await ask("/livez", overdue=True)
    assert (code, text) == (
        500,
        "[+]ping ok\n[-]leaderElection failed: reason withheld\nlivez check failed\n",
    )
    why = "failed election to renew leadership on lease kube-scheduler"
    assert await ask("/livez/leaderElection", overdue=True) == (500, f"internal server error: {why}\n")


async def test_shutting_down() -> None:
    assert (await ask("/readyz", stopping=True, synced=True))[0] == 500
    assert (await ask("/livez", stopping=True, synced=True))[0] == 200


async def test_slis() -> None:
    stage, _ = metered()
    checks: Any = (PING, Check("broken", lambda: "why"))
    async with talk(serving(stage, health=Health(readyz=checks))) as client:
        _, text = await get(client, "/metrics/slis")
    assert 'kubernetes_healthcheck{name="broken",type="readyz"} 0.0' in text
    assert 'kubernetes_healthcheck{name="ping",type="healthz"} 1.0' in text


def test_a_check_that_fails_is_not_logged_as_often_as_it_is_asked(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    moment = [0.0]
    tell = Teller(lambda: moment[0])
    for _ in range(1000):
        tell("readyz check failed: a")
    tell("readyz check failed: b")
    moment[0] = QUIET_S
    tell("readyz check failed: b")
    assert [line.getMessage()[-1] for line in caplog.records] == ["a", "b", "b"]
