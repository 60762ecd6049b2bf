"""A scheduler to look at: an engine with a meter, and everything that is served of it."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import ClientSession
from aiohttp.test_utils import TestClient, TestServer
from prometheus_client.parser import text_string_to_metric_families

from engine.stage import BUILT_IN, Stage, config
from mooring.framework.metrics.meter import Meter
from mooring.logs.decisions import DecisionLog
from mooring.web.access import Answer, Credentials, Verdict
from mooring.web.exposition import encode
from mooring.web.reading import read
from mooring.web.server import Serving, ServingSettings, Shown

TICK_S = 0.001  # what the meter's clock goes on by whenever it is read


class Steps:
    """A clock that goes on evenly each time it is read."""

    def __init__(self, step: float = TICK_S) -> None:
        self.now, self._step = 0.0, step

    def __call__(self) -> float:
        self.now += self._step
        return self.now


def metered(*plugins: type, **options: Any) -> tuple[Stage, Meter]:
    meter = Meter(Steps(), random.Random(1))
    return Stage(*plugins, meter=meter, **options), meter


def scrape(stage: Stage) -> dict[str, float]:
    """Every sample by its name with labels, as text in and out of Prometheus' own library."""
    assert stage.engine.meter is not None
    readings = asyncio.run(read(stage.engine, stage.engine.meter))
    return parsed(encode(readings, "text/plain")[0].decode())


def parsed(text: str) -> dict[str, float]:
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = ",".join(f'{key}="{value}"' for key, value in sorted(sample.labels.items()))
            found[f"{sample.name}{{{labels}}}" if labels else sample.name] = sample.value
    return found


async def allow(who: Credentials, verb: str, path: str) -> Verdict:
    return Verdict(Answer.ALLOWED)


def serving(stage: Stage, *, authorize: Any = allow, profiling: bool = True, **shown: Any) -> Serving:
    settings = ServingSettings(profiling=profiling)
    about = {"config": config(BUILT_IN)[0], "decisions": DecisionLog(stage.engine)} | shown
    engine = stage.engine
    return Serving(settings, Shown(engine=engine, meter=engine.meter, **about), authorize=authorize)


@asynccontextmanager
async def talk(server: Serving) -> AsyncIterator[TestClient[Any, Any]]:
    async with TestClient(TestServer(server.app())) as client:
        yield client


async def get(session: ClientSession | TestClient[Any, Any], path: str, **more: Any) -> tuple[int, str]:
    async with session.get(path, **more) as answer:
        return answer.status, await answer.text()
