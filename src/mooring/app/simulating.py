"""A run on the embedded cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec.structs import replace

from mooring.app.making import make_engine, read_config
from mooring.app.recording import record as recorded
from mooring.config.feature_gates import FeatureGates
from mooring.config.load import SchedulerConfig
from mooring.engine.engine import Engine
from mooring.engine.recording.recorded_engine import RecordedEngine
from mooring.errors import Mistake
from mooring.logs import set_clock
from mooring.logs.decisions import DecisionLog
from mooring.plugins.catalogue import make_registry
from mooring.sim.manifests.manifests import read_manifests
from mooring.sim.result import Result
from mooring.sim.simulation import Progress, Simulation


def simulate(
    paths: Sequence[str],
    *,
    config: Path | None = None,
    policies: Path | None = None,
    seed: int = 0,
    until: float | None = None,
    scores: bool = False,
    gates: FeatureGates | None = None,
    record: Path | None = None,
    logged: bool = False,
    lenient: bool = False,
    adopt: Sequence[str] = (),
    progress: Progress | None = None,
    remark: Callable[[Mistake], None] = lambda remark: None,
) -> Result:
    """Runs manifests on the embedded cluster, with the very engine that runs in production.

    `remark` is told what in a configuration is right and has no effect, and what in files is passed over.
    What is decided is logged if it is to be, as `mooring run` logs it, with the simulated time. Pods of the
    schedulers in `adopt` are placed as those of the first profile are. `lenient` is for manifests that an API
    server would refuse for unknown or missing fields.
    """
    registry = make_registry(policies)
    settings = _adopting(read_config(config, registry), adopt)
    for one in settings.remarks:
        remark(one)
    entries = read_manifests(paths, stdin=sys.stdin, lenient=lenient, remark=remark)
    kind = Engine if record is None else RecordedEngine
    engine = make_engine(settings, registry, seed=seed, gates=gates, keep_scores=scores, kind=kind)
    recording = None if record is None else recorded(engine, record, settings, seed=seed, gates=gates)
    simulation = Simulation(
        engine,
        entries,
        seed=seed,
        scheduler_names=tuple(engine.profiles),
        until=until,
        scores=scores,
        progress=progress,
        extenders=settings.extenders,
        onlooker=DecisionLog(engine) if logged else None,
        reads=_reads(engine),
        gang_names=tuple(engine.hooks.gang_rules),
    )
    set_clock(lambda: simulation.clock.now)
    try:
        result = simulation.run()
        for name in sorted(set(adopt) - {pod.spec.scheduler_name for pod in simulation.world.pods.values()}):
            remark(Mistake("--adopt", f'no pod names scheduler "{name}".'))
        return result
    finally:
        set_clock(None)
        if recording is not None:
            recording.close()


def _adopting(settings: SchedulerConfig, names: Sequence[str]) -> SchedulerConfig:
    """The configuration with a profile like its first for each name that has none."""
    first, known = settings.profiles[0], {profile.scheduler_name for profile in settings.profiles}
    added = [replace(first, scheduler_name=name) for name in dict.fromkeys(names) if name not in known]
    return replace(settings, profiles=(*settings.profiles, *added))


def _reads(engine: Engine) -> set[tuple[str, str]]:
    """Group and plural of what plugins read."""
    plugins = (plugin for profile in engine.profiles.values() for plugin in profile.plugins.values())
    named = (kind.split("/") for plugin in plugins for kind in plugin.reads)
    return {(kind[0], kind[-1]) for kind in named if len(kind) == 3}
