"""Loads what people wrote in a process of its own, so that nothing in it can hang, end or change this one.

The other process is a fork: it has everything imported already, and costs some milliseconds. What it finds
it writes down file by file; if it does not come to an end, or ends in another way, the file it was at is to
blame, at the line where it hung.
"""

from __future__ import annotations

import faulthandler
import os
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import IO

import msgspec

from mooring.app.printing import printed_elsewhere
from mooring.app.process_state import changed, process_state
from mooring.errors import Mistake

LIMIT_S = 20.0  # to load one file; importing a large library takes seconds
POLL_S = 0.002
LATE_S = 5.0  # until a process that does not even end itself is killed
FRAME = re.compile(r'^  File "(.*)", line (\d+) in ', re.MULTILINE)


class Found(msgspec.Struct):
    """What there is to say about a file: what is wrong, and what is only worth knowing."""

    mistakes: list[Mistake] = []
    remarks: list[str] = []


Check = Callable[[Path], Found]


def check_apart(
    files: Sequence[Path], check: Check, *, limit_s: float = LIMIT_S, near: Collection[Path] = ()
) -> list[Found]:
    """What a check finds in each file. `near` are files and folders whose code it runs besides."""
    found: list[Found] = []
    while len(found) < len(files):
        left = files[len(found) :]
        with tempfile.TemporaryFile() as findings, tempfile.TemporaryFile("w+") as trace:
            code = _ended(_forked(left, check, limit_s, findings, trace), limit_s * len(left) + LATE_S)
            findings.seek(0)
            found += [msgspec.json.decode(line, type=Found) for line in findings]
            if len(found) < len(files):
                trace.seek(0)
                blamed = files[len(found)]
                what = _hung(trace.read(), (blamed, *near), limit_s) or Mistake(str(blamed), _words(code))
                found.append(Found([what]))
    return found


def _forked(files: Sequence[Path], check: Check, limit_s: float, findings: IO[bytes], trace: IO[str]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    faulthandler.cancel_dump_traceback_later()  # its thread would be missed, for ever, on the other side
    child = os.fork()
    if child:
        return child
    try:
        _work(files, check, limit_s, findings, trace)
    finally:
        os._exit(0)


def _work(files: Sequence[Path], check: Check, limit_s: float, findings: IO[bytes], trace: IO[str]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    for file in files:
        faulthandler.dump_traceback_later(limit_s, exit=True, file=trace)
        before = process_state()
        with printed_elsewhere() as printing:
            found = check(file)
        found.remarks += [*printing.remarks(), *(f"{file}: {what}" for what in changed(before))]
        findings.write(msgspec.json.encode(found) + b"\n")
        findings.flush()


def _ended(child: int, limit_s: float) -> int:
    """Waits for the other process; its exit code, or less than 0 when a signal ended it."""
    deadline = time.monotonic() + limit_s
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            deadline = float("inf")
        time.sleep(POLL_S)


def _hung(trace: str, its_own: Sequence[Path], limit_s: float) -> Mistake | None:
    """The line it hung at, the innermost in what people wrote."""
    frames = FRAME.findall(trace)
    if not frames:
        return None
    roots = tuple(str(path.absolute()) for path in its_own)
    own = [f"{file}:{line}:1" for file, line in frames if str(Path(file).absolute()).startswith(roots)]
    what = f"does not come to an end: stopped after {limit_s:g} s"
    at = "".join(f", at {file}:{line}" for file, line in frames[:1])
    return Mistake(own[0], what) if own else Mistake(str(its_own[0]), what + at)


def _words(code: int) -> str:
    how = f"with code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
    return f"ends the process that loads it, {how}"
