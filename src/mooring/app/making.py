"""From a configuration to the engine it asks for."""

from __future__ import annotations

import logging
from pathlib import Path

from mooring.config.bounds import read_bounded
from mooring.config.feature_gates import FeatureGates
from mooring.config.load import SchedulerConfig, default_config, load_config
from mooring.engine.engine import Engine
from mooring.engine.queue.backoff import Backoff
from mooring.errors import ConfigError
from mooring.framework.loading.registry import Registry
from mooring.framework.metrics.meter import Meter
from mooring.framework.running.budget import Budgets

log = logging.getLogger("mooring.app")


def read_config(file: Path | None, registry: Registry) -> SchedulerConfig:
    """The configuration in a file, checked against the plugins there are; the default one without."""
    config = default_config(registry) if file is None else load_config(read_text(file), str(file), registry)
    for where in config.policies:
        log.info("%s", where)
    return config


def read_text(file: Path) -> str:
    try:
        return read_bounded(file)
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
    meter: Meter | None = None,
    budgets: Budgets | None = None,
    kind: type[Engine] = Engine,
) -> Engine:
    """The engine a configuration asks for."""
    backoff = Backoff(config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds)
    return kind(
        config.profiles,
        registry,
        seed=seed,
        backoff=backoff,
        gates=gates,
        keep_scores=keep_scores,
        extenders=config.extenders,
        meter=meter,
        budgets=budgets,
    )
