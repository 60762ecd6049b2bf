"""Puts the parts together: the only place that knows them all."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from mooring.config.feature_gates import FeatureGates
from mooring.config.load import SchedulerConfig, default_config, load_config
from mooring.engine.backoff import Backoff
from mooring.engine.engine import Engine
from mooring.errors import ConfigError, Mistake
from mooring.framework.registry import Registry
from mooring.plugins.catalogue import make_registry
from mooring.sim.manifests import read_manifests
from mooring.sim.result import Result
from mooring.sim.simulation import Progress, Simulation


def read_config(file: Path | None, registry: Registry) -> SchedulerConfig:
    """The configuration in a file, checked against the plugins there are; the default one without."""
    return default_config(registry) if file is None else load_config(read_text(file), str(file), registry)


def read_text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError.at(str(file), f"cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError.at(str(file), "is not text in UTF-8") from error


def make_engine(
    config: SchedulerConfig,
    registry: Registry,
    *,
    seed: int = 0,
    gates: FeatureGates | None = None,
    keep_scores: bool = False,
) -> Engine:
    """The engine a configuration asks for."""
    backoff = Backoff(config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds)
    return Engine(
        config.profiles,
        registry,
        seed=seed,
        backoff=backoff,
        gates=gates,
        keep_scores=keep_scores,
        extenders=config.extenders,
    )


def simulate(
    paths: Sequence[str],
    *,
    config: Path | None = None,
    policies: Path | None = None,
    seed: int = 0,
    until: float | None = None,
    scores: bool = False,
    gates: FeatureGates | None = None,
    progress: Progress | None = None,
    remark: Callable[[Mistake], None] = lambda remark: None,
) -> Result:
    """Runs manifests on the embedded cluster, with the very engine that runs in production.

    `remark` is told what in a configuration is right and has no effect.
    """
    registry = make_registry(policies)
    settings = read_config(config, registry)
    for one in settings.remarks:
        remark(one)
    entries = read_manifests(paths, stdin=sys.stdin)
    engine = make_engine(settings, registry, seed=seed, gates=gates, keep_scores=scores)
    return Simulation(
        engine,
        entries,
        seed=seed,
        scheduler_names=tuple(engine.profiles),
        until=until,
        scores=scores,
        progress=progress,
        extenders=settings.extenders,
    ).run()
