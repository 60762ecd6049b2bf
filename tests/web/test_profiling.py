"""A live profile, and figures of the process."""

from __future__ import annotations

import asyncio
import sys
import threading
from types import FrameType

import pytest

from mooring.config.feature_gates import parse_feature_gates
from mooring.web import profiling
from mooring.web.access import Answer, Credentials, Verdict
from mooring.web.process_metrics import BUILD_INFO, build_info, features
from mooring.web.profiling import Profiler, collapsed
from web.shown import get, metered, parsed, serving, talk


class Busy:
    """A thread that is known to be in `spin_here`."""

    def __enter__(self) -> Busy:
        self.go_on = threading.Event()
        self.in_it = threading.Event()
        self.thread = threading.Thread(target=self.spin_here, name="the busy one")
        self.thread.start()
        self.in_it.wait()
        return self

    def spin_here(self) -> None:
        self.in_it.set()
        self.go_on.wait()

    def __exit__(self, *error: object) -> None:
        self.go_on.set()
        self.thread.join()


def test_stacks_are_counted() -> None:
    with Busy():
        found = Profiler().take(0.05)
    (stack,) = {stack for stack in found if stack[0] == "the busy one"}
    assert found[stack] == 5
    assert "web/test_profiling.py:Busy.spin_here" in stack
    line = next(line for line in collapsed(found).splitlines() if line.startswith("the busy one;"))
    assert line.rsplit(" ", 1)[1] == "5"


def test_stacks_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def deep(left: int) -> FrameType:
        return deep(left - 1) if left else sys._getframe()

    monkeypatch.setattr(profiling, "MOST_STACKS", 1)
    frames = [deep(300), deep(3)]
    profiler = Profiler(lambda: {-1: frames[0], -2: frames[1]})
    found = profiler.take(0.02)
    assert len(found) == 2
    assert found[profiling.OTHERS] == 2
    assert max(map(len, found)) == profiling.DEEPEST + 1


async def test_over_http() -> None:
    stage, _ = metered()
    server = serving(stage)
    async with talk(server) as client:
        code, text = await get(client, "/debug/profile?seconds=0.05")
        assert code == 200
        assert "MainThread;" in text
        for wrong in ("0", "-1", "61", "nan", "soon", "9" * 1000):
            assert (await get(client, f"/debug/profile?seconds={wrong}"))[0] == 400
        first = asyncio.ensure_future(get(client, "/debug/profile?seconds=60"))
        while not server._profiler._taking:
            await asyncio.sleep(0)
        assert await get(client, "/debug/profile") == (429, "a profile is being taken already\n")
        server._profiler.stop()  # as when the scheduler ends: nobody waits a minute
        assert (await first)[0] == 200
        assert "/debug/profile" in (await get(client, "/debug/pprof/"))[1]


async def test_a_profile_is_not_for_everybody() -> None:
    async def deny(who: Credentials, verb: str, path: str) -> Verdict:
        return Verdict(Answer.DENIED)

    stage, _ = metered()
    async with talk(serving(stage, authorize=deny)) as client:
        assert (await get(client, "/debug/profile"))[0] == 403
    async with talk(serving(stage, profiling=False)) as client:
        assert (await get(client, "/debug/profile"))[0] == 404


async def test_figures_of_the_process() -> None:
    stage, _ = metered()
    gates = parse_feature_gates("PodLevelResources=false,MemoryQoS=true")
    async with talk(serving(stage, gates=gates)) as client:
        found = parsed((await get(client, "/metrics"))[1])
    enabled = "kubernetes_feature_enabled"
    assert found[enabled + '{name="PodLevelResources",stage="BETA"}'] == 0
    assert found[enabled + '{name="MemoryQoS",stage="ALPHA"}'] == 1
    assert found[enabled + '{name="SidecarContainers",stage=""}'] == 1
    assert found[enabled + '{name="AllAlpha",stage="ALPHA"}'] == 0
    assert sum(name.startswith("kubernetes_build_info{") for name in found) == 1


def test_the_version_in_labels() -> None:
    ((labels, value),) = build_info().series
    said = dict(zip(BUILD_INFO.labels, labels, strict=True))
    assert (value, said["major"], said["minor"]) == (1, "1", "36")
    assert said["git_version"].startswith("v1.36.0+mooring.")
    assert "/" in said["platform"]


def test_whole_stages() -> None:
    series = dict(features(parse_feature_gates("AllBeta=false")).series)
    assert series["AllBeta", "BETA"] == 0
    assert series["PodLevelResources", "BETA"] == 0
    assert series["SchedulerQueueingHints", ""] == 1


async def test_metrics_that_are_disabled() -> None:
    stage, _ = metered()
    server = serving(stage)
    server._settings = type(server._settings)(disabled_metrics=frozenset({"scheduler_pending_pods"}))
    async with talk(server) as client:
        found = parsed((await get(client, "/metrics"))[1])
    assert not any(name.startswith("scheduler_pending_pods") for name in found)
    assert any(name.startswith("scheduler_cache_size") for name in found)
