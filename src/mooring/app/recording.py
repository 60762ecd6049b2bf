"""A scheduler that is recorded, and a recording that is played again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import msgspec

from mooring.app.making import make_engine, read_config
from mooring.config.feature_gates import FeatureGates
from mooring.config.load import SchedulerConfig, load_config
from mooring.config.scheduler import Extender
from mooring.config.written import as_yaml
from mooring.engine.engine import Engine
from mooring.engine.recording.entries import Entry, Made, Stopped
from mooring.engine.recording.recorded_engine import RecordedEngine
from mooring.engine.recording.replay import Difference, Replayed, replay
from mooring.errors import ConfigError
from mooring.plugins.catalogue import make_registry
from mooring.recordings.reading import Recording
from mooring.recordings.writing import LARGEST_MB, RecordingFile

TOLD_EVERY = 1000  # entries
POLICIES = "; policies are not part of a recording: name their folder with --policies"


def record(
    engine: Engine,
    file: Path,
    config: SchedulerConfig,
    *,
    seed: int,
    gates: FeatureGates | None,
    largest_mb: int = LARGEST_MB,
) -> RecordingFile:
    """Has all that an engine is told from now on written to a file. ConfigError: it cannot be written."""
    assert isinstance(engine, RecordedEngine)
    plain = msgspec.structs.replace(config, extenders=tuple(map(_without_keys, config.extenders)))
    given = {} if gates is None else gates.given
    made = Made(version("mooring"), as_yaml(plain), seed=seed, gates=given)
    recording = RecordingFile(file, made, largest_mb=largest_mb)
    engine.record = recording.write
    return recording


class Player:
    """A recording and a fresh engine it is played to: made as the one before, or as it is asked for."""

    def __init__(
        self,
        file: Path,
        *,
        config: Path | None = None,
        policies: Path | None = None,
        progress: Callable[[int], None] = lambda entries: None,
    ) -> None:
        self._progress = progress
        self.recording = Recording(file)
        self.so_far = Replayed()
        self.stopped = ""  # why nothing more was recorded, if it did not just end
        made = self.recording.made
        registry = make_registry(policies)
        try:
            settings = (
                load_config(made.configuration, f"{file}: its configuration", registry)
                if config is None
                else read_config(config, registry)
            )
        except ConfigError as error:
            raise error if policies or config else _named(error) from error
        self._engine = make_engine(settings, registry, seed=made.seed, gates=FeatureGates(made.gates))

    def differences(self) -> Iterator[Difference]:
        """Plays it; what differs, as it comes."""
        entries = self.recording.entries()
        self.so_far.entries = 1  # how it was made
        yield from replay(map(self._noted, entries), self._engine, self.so_far)

    def _noted(self, entry: Entry) -> Entry:
        if self.so_far.entries % TOLD_EVERY == 0:
            self._progress(self.so_far.entries)
        if isinstance(entry, Stopped):
            self.stopped = entry.why
        return entry


def _named(error: ConfigError) -> ConfigError:
    return ConfigError([each._replace(what=each.what + POLICIES) for each in error.mistakes])


def _without_keys(extender: Extender) -> Extender:
    """Nobody asks it when a recording is played."""
    return msgspec.structs.replace(extender, tls_config=None)
