"""A run on the embedded cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from mooring.app.making import make_engine, read_config
from mooring.app.recording import record as recorded
from mooring.config.feature_gates import FeatureGates
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
    progress: Progress | None = None,
    remark: Callable[[Mistake], None] = lambda remark: None,
) -> Result:
    """Runs manifests on the embedded cluster, with the very engine that runs in production.

    `remark` is told what in a configuration is right and has no effect, and what in files is passed over.
    What is decided is logged if it is to be, as `mooring run` logs it, with the simulated time.
    `lenient` is for manifests that an API server would refuse for unknown or missing fields.
    """
    registry = make_registry(policies)
    settings = read_config(config, registry)
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
    )
    set_clock(lambda: simulation.clock.now)
    try:
        return simulation.run()
    finally:
        set_clock(None)
        if recording is not None:
            recording.close()
