"""Reads a recording, entry by entry, as far as it was written."""

from __future__ import annotations

import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO

import msgspec

from mooring.engine.recording.entries import VERSION, Entry, Made, decode
from mooring.errors import ConfigError
from mooring.recordings.writing import LENGTH, MAGIC

PIECE = 1 << 16
LARGEST_ENTRY = 1 << 28  # bytes: more than any object the API server takes


class Recording:
    """An open recording: how the engine was made, and what followed."""

    def __init__(self, file: Path) -> None:
        self._name = str(file)
        self.is_cut = False  # it was not ended in order: who wrote it was killed, say
        self._entries = self._read(file)
        first = next(self._entries, None)
        try:
            self.made = self._checked(first)
        except ConfigError:
            self._entries.close()
            raise

    def _checked(self, first: Entry | None) -> Made:
        if not isinstance(first, Made):
            raise ConfigError.at(self._name, "does not say how the scheduler was made: nothing was written")
        if first.format != VERSION:
            what = (
                f"is of format {first.format}, written by Mooring {first.mooring}; this one reads {VERSION}"
            )
            raise ConfigError.at(self._name, what)
        return first

    def entries(self) -> Iterator[Entry]:
        """What follows, once."""
        return self._entries

    def _read(self, file: Path) -> Generator[Entry, None, None]:
        try:
            with file.open("rb") as opened:
                if opened.read(len(MAGIC)) != MAGIC:
                    raise ConfigError.at(self._name, "is not a recording of Mooring")
                yield from self._unpacked(opened)
        except OSError as error:
            raise ConfigError.at(self._name, f"cannot be read: {error.strerror}") from error

    def _unpacked(self, opened: IO[bytes]) -> Iterator[Entry]:
        unpack, left = zlib.decompressobj(), b""
        while piece := opened.read(PIECE):
            try:
                left += unpack.decompress(piece)
            except zlib.error as error:
                raise ConfigError.at(self._name, f"is damaged: {error}") from error
            start = 0
            while len(left) - start >= LENGTH.size:
                (length,) = LENGTH.unpack_from(left, start)
                end = start + LENGTH.size + length
                if length > LARGEST_ENTRY:
                    raise ConfigError.at(self._name, "is damaged: an entry of impossible length")
                if len(left) < end:
                    break
                yield self._entry(left[start + LENGTH.size : end])
                start = end
            left = left[start:]
        self.is_cut = bool(left) or not unpack.eof

    def _entry(self, data: bytes) -> Entry:
        try:
            entry: Entry = decode(data)
        except msgspec.DecodeError as error:
            raise ConfigError.at(self._name, f"is damaged: {error}") from error
        return entry
