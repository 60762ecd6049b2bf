"""Files of recordings: what is written is read, however it ended; they stay within their bounds."""

from __future__ import annotations

import logging
import os
import zlib
from pathlib import Path

import pytest

from mooring.engine.events import Tick
from mooring.engine.recording.entries import Entry, Made, Stopped, Told, Turn, encode
from mooring.errors import ConfigError
from mooring.recordings import writing
from mooring.recordings.reading import Recording
from mooring.recordings.writing import LENGTH, MAGIC, RecordingFile

MADE = Made("1.0", "", seed=2**64 - 1)


def entries(count: int) -> list[Entry]:
    return [Told(float(n), Tick()) if n % 2 else Turn(float(n)) for n in range(count)]


def written(file: Path, *given: Entry, closes: bool = True, **options: int) -> Path:
    recording = RecordingFile(file, MADE, **options)
    for entry in given:
        recording.write(entry)
    if closes:
        recording.close()
    return file


def test_what_is_written_is_read(tmp_path: Path) -> None:
    recording = Recording(written(tmp_path / "a", *entries(1000)))
    assert recording.made == MADE
    assert list(recording.entries()) == entries(1000)
    assert not recording.is_cut


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    assert written(tmp_path / "a").stat().st_mode & 0o777 == 0o600


def test_who_is_killed_leaves_all_but_the_last_second(tmp_path: Path) -> None:
    recording = Recording(written(tmp_path / "a", *entries(100), closes=False))
    found = list(recording.entries())
    assert found == entries(100)[: len(found)]
    assert len(found) >= 99
    assert recording.is_cut


def test_what_is_flushed_is_read_though_nothing_follows(tmp_path: Path) -> None:
    recording = RecordingFile(tmp_path / "a", MADE)
    recording.write(Turn(0.5))
    recording.write(Turn(0.6))
    recording.flush()
    assert list(Recording(tmp_path / "a").entries()) == [Turn(0.5), Turn(0.6)]
    size = (tmp_path / "a").stat().st_size
    recording.flush()
    assert (tmp_path / "a").stat().st_size == size  # there was nothing new


@pytest.mark.parametrize("left", [0.3, 0.9])
def test_a_file_that_is_cut_is_read_as_far_as_it_goes(tmp_path: Path, left: float) -> None:
    file = written(tmp_path / "a", *entries(5000))
    file.write_bytes(file.read_bytes()[: int(left * file.stat().st_size)])
    recording = Recording(file)
    found = list(recording.entries())
    assert found == entries(5000)[: len(found)]
    assert 0 < len(found) < 5000
    assert recording.is_cut


def test_it_ends_at_its_limit_and_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    recording = RecordingFile(tmp_path / "a", MADE, largest_mb=1)
    noise = [Stopped(os.urandom(40_000).hex()) for _ in range(40)]
    for entry in noise:
        recording.write(entry)
    assert (tmp_path / "a").stat().st_size < 1.1 * 1024 * 1024
    assert not recording.is_open
    *found, last = Recording(tmp_path / "a").entries()
    assert found == noise[: len(found)]
    assert last == Stopped("it has reached its limit of 1 MB")
    assert [each.message for each in caplog.records] == [
        f"{tmp_path / 'a'}: recording ends here: it has reached its limit of 1 MB"
    ]
    recording.close()  # does no harm


def test_a_full_disk_ends_the_recording_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    recording = RecordingFile(tmp_path / "a", MADE)

    def full(file: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(writing.os, "write", full)
        for entry in entries(5):
            recording.write(entry)
    assert not recording.is_open
    assert len(caplog.records) == 2  # that it ends, and that its end is missing


def test_earlier_recordings_move_on(tmp_path: Path) -> None:
    for number in range(6):
        written(tmp_path / "a", Turn(float(number)))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a", "a.1", "a.2", "a.3"]
    for name, number in (("a", 5.0), ("a.1", 4.0), ("a.3", 2.0)):
        assert list(Recording(tmp_path / name).entries()) == [Turn(number)]


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is not a recording of Mooring"),
        (b"apiVersion: v1\n" * 9, "is not a recording of Mooring"),
        (MAGIC, "does not say how the scheduler was made: nothing was written"),
        (MAGIC + b"nonsense", "is damaged: "),
        (MAGIC + zlib.compress(LENGTH.pack(2**31)), "is damaged: an entry of impossible length"),
        (MAGIC + zlib.compress(LENGTH.pack(1) + b"\xc1"), "is damaged: "),
    ],
)
def test_what_is_no_recording_says_so(tmp_path: Path, content: bytes, what: str) -> None:
    file = tmp_path / "a"
    file.write_bytes(content)
    with pytest.raises(ConfigError) as error:
        Recording(file)
    assert str(error.value).startswith(f"{file}: {what}")


def test_a_byte_that_was_changed_is_told(tmp_path: Path) -> None:
    file = written(tmp_path / "a", *entries(5000))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 255
    file.write_bytes(data)
    with pytest.raises(ConfigError, match="is damaged: "):
        list(Recording(file).entries())


def test_another_format_is_told(tmp_path: Path) -> None:
    later = encode(Made("9.9", "", format=2))
    file = tmp_path / "a"
    file.write_bytes(MAGIC + zlib.compress(LENGTH.pack(len(later)) + later))
    with pytest.raises(ConfigError, match=r"is of format 2, written by Mooring 9\.9; this one reads 1"):
        Recording(file)


def test_a_place_that_cannot_be_written_is_told_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written: No such file or directory"):
        RecordingFile(tmp_path / "nowhere" / "a", MADE)
