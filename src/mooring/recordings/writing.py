"""Writes a recording: packed, readable up to the last second whatever ends the process, and never too large.

What is recorded may be anything that pods say of themselves, so only its owner may read the file. Recording
is for looking into things: when it cannot go on, it says so and scheduling does.
"""

from __future__ import annotations

import logging
import os
import struct
import zlib
from pathlib import Path
from typing import Final

from mooring.engine.recording.entries import Entry, Made, Stopped, Told, Turn, encode
from mooring.errors import ConfigError

log = logging.getLogger("mooring.recordings")

MAGIC: Final = b"mooring recording 1\n"
LENGTH: Final = struct.Struct("<I")
LEVEL: Final = 1  # of packing: events repeat themselves so much that more brings little
KEPT: Final = 3  # recordings of earlier runs
LARGEST_MB: Final = 1024
EVERY_S: Final = 1.0  # of the engine's time: with what comes after it, an entry is put on disk
FULL = "it has reached its limit of {mb} MB"


class RecordingFile:
    """One recording. The last `KEPT` of the same name are kept beside it: FILE.1 is the one before."""

    def __init__(self, file: Path, made: Made, *, largest_mb: int = LARGEST_MB) -> None:
        self._name = file
        self._largest = largest_mb * 1024 * 1024
        self._mb = largest_mb
        self._written = 0
        self._flushed_at = 0.0
        self._is_behind = False  # something is written that is not on disk
        self._pack = zlib.compressobj(LEVEL)
        try:
            _make_way(file)
            self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(self._file, MAGIC)
        except OSError as error:
            raise ConfigError.at(str(file), f"cannot be written: {error.strerror}") from error
        self.is_open = True
        self.write(made)

    def write(self, entry: Entry) -> None:
        """Adds an entry. Never fails: a recording that cannot go on ends."""
        if not self.is_open:
            return
        try:
            self._add(entry)
            if self._written >= self._largest:
                self._end(FULL.format(mb=self._mb))
            elif isinstance(entry, Told | Turn) and abs(entry.now - self._flushed_at) >= EVERY_S:
                self._flushed_at = entry.now
                self._flush()
        except Exception as error:
            self._end(str(error))

    def flush(self) -> None:
        """Puts on disk what is written by now, if there is anything: for a time in which nothing happens."""
        if not (self.is_open and self._is_behind):
            return
        try:
            self._flush()
        except OSError as error:
            self._end(str(error))

    def close(self) -> None:
        """Ends it in order."""
        if self.is_open:
            self.is_open = False
            self._put(self._pack.flush())
            os.close(self._file)

    def _flush(self) -> None:
        self._is_behind = False
        self._put(self._pack.flush(zlib.Z_SYNC_FLUSH))

    def _add(self, entry: Entry) -> None:
        data = encode(entry)
        self._is_behind = True
        self._put(self._pack.compress(LENGTH.pack(len(data)) + data))

    def _put(self, data: bytes) -> None:
        self._written += len(data)
        while data:
            data = data[os.write(self._file, data) :]

    def _end(self, why: str) -> None:
        log.warning("%s: recording ends here: %s", self._name, why)
        try:
            self._add(Stopped(why))
            self.close()
        except Exception as error:
            self.is_open = False
            log.warning("%s: its end is missing: %s", self._name, error)


def _make_way(file: Path) -> None:
    """Recordings of earlier runs move on by one; the oldest goes."""
    for number in range(KEPT, 0, -1):
        before = file if number == 1 else file.with_name(f"{file.name}.{number - 1}")
        if before.exists():
            before.replace(file.with_name(f"{file.name}.{number}"))
