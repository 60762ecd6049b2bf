"""`mooring run`, put together: a configuration and a cluster in, an exit code out."""

from __future__ import annotations

import asyncio
import logging
import random
import resource
import signal
import time
from collections.abc import Coroutine, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from mooring.app.driver import Clock
from mooring.app.live import DONE, FAILED, LiveScheduler
from mooring.app.loading import load_plugins, shown_if_it_hangs
from mooring.app.making import make_engine, read_config
from mooring.app.options import RunOptions
from mooring.app.recording import record
from mooring.app.serving import Trust, make_serving
from mooring.app.watchdog import Watchdog, files_of
from mooring.app.whereabouts import Policies
from mooring.config.load import SchedulerConfig
from mooring.config.written import as_yaml
from mooring.engine.engine import Engine
from mooring.engine.recording.recorded_engine import RecordedEngine
from mooring.errors import ConfigError
from mooring.framework.metrics.meter import Meter
from mooring.framework.running.budget import Budgets
from mooring.kube.access.access import Access
from mooring.kube.access.locate import find_access
from mooring.recordings.writing import EVERY_S, RecordingFile
from mooring.web.server import Serving

log = logging.getLogger("mooring.app")

OPEN_FILES = 4096  # a connection has two, and a server far away gets hundreds of them


def run(options: RunOptions) -> int:
    """Schedules until it is told to end. Mistakes in what it is given are raised before anything starts."""
    registry = load_plugins(options.policies)
    with shown_if_it_hangs():
        config = effective(options, read_config(options.config, registry))
    for remark in (*options.remarks(), *config.remarks):
        log.warning("%s", remark)
    if options.write_config_to is not None:
        return write_config(config, options.write_config_to)
    allow_open_files()
    seed = options.seed if options.seed is not None else random.SystemRandom().getrandbits(64)
    meter = Meter(time.perf_counter)
    budgets = Budgets(time.perf_counter, meter)
    engine = make_engine(
        config,
        registry,
        seed=seed,
        gates=options.gates,
        meter=meter,
        budgets=budgets,
        kind=Engine if options.record is None else RecordedEngine,
    )
    kubeconfig = options.kubeconfig_file(config.client_connection)
    access = find_access(str(kubeconfig or ""), master=options.master)
    policies = Policies(files_of(registry.get(name) for name in registry.names()))
    with (
        _recording(options, engine, config, seed) as recording,
        Watchdog(policies) as watchdog,
        asyncio.Runner(loop_factory=_new_loop) as runner,
    ):
        scheduling = _schedule(options, engine, access, config, watchdog)
        return runner.run(scheduling if recording is None else _on_disk_soon(recording, scheduling))


@contextmanager
def _recording(
    options: RunOptions, engine: Engine, config: SchedulerConfig, seed: int
) -> Iterator[RecordingFile | None]:
    """Records the engine, if that is asked for."""
    if options.record is None:
        yield None
        return
    limit = options.record_max_mb
    recording = record(engine, options.record, config, seed=seed, gates=options.gates, largest_mb=limit)
    with closing(recording):
        yield recording


async def _on_disk_soon(recording: RecordingFile, scheduling: Coroutine[Any, Any, int]) -> int:
    """Schedules; what is recorded is on disk a second later, also when nothing happens after it."""

    async def flush() -> None:
        while True:
            await asyncio.sleep(EVERY_S)
            recording.flush()

    flushing = asyncio.create_task(flush())
    try:
        return await scheduling
    finally:
        flushing.cancel()


def allow_open_files() -> None:
    """Many systems start a process with less than it may ask for."""
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if most == resource.RLIM_INFINITY else min(most, OPEN_FILES)
    if allowed != resource.RLIM_INFINITY and allowed < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def effective(options: RunOptions, config: SchedulerConfig) -> SchedulerConfig:
    """The configuration with what the command line says in its place."""
    return msgspec.structs.replace(
        config,
        leader_election=options.election.over(config.leader_election),
        client_connection=options.connection(config.client_connection),
    )


def write_config(config: SchedulerConfig, file: Path) -> int:
    """`--write-config-to`: the configuration as it would be used, and nothing is scheduled."""
    try:
        file.touch(mode=0o600)
        file.write_text(as_yaml(config), encoding="utf-8")
    except OSError as error:
        raise ConfigError.at(str(file), f"cannot be written: {error.strerror}") from error
    log.info("the configuration is written to %s", file)
    return DONE


async def _schedule(
    options: RunOptions, engine: Engine, access: Access, config: SchedulerConfig, watchdog: Watchdog
) -> int:
    live = LiveScheduler(engine, access, config, clock=Clock(), stuck=watchdog.stuck)
    assert engine.meter is not None
    trust = Trust(options, access)
    serving = make_serving(options, live, config, engine.meter, trust)
    loop = asyncio.get_running_loop()
    watchdog.follow(loop)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, live.stop)
    try:
        await serving.start()
        return await _run(live, serving)
    finally:
        await trust.close()


async def _run(live: LiveScheduler, serving: Serving) -> int:
    try:
        return await live.run()
    except* Exception as group:
        for error in group.exceptions:
            log.error("the scheduler ends: %s", error, exc_info=error)
    finally:
        await serving.stop()
    return FAILED


def _new_loop() -> asyncio.AbstractEventLoop:
    """uvloop's where it is installed (the extra `fast`)."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()
