"""Sets logging up: one handler for everything, Mooring's own loggers as verbose as asked.

Libraries are heard from WARNING up. The verbosity may change while the process runs.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import TextIO

from mooring.logs.formats import FORMATS
from mooring.logs.verbosity import MOST, level_of, verbosity_of

OURS = "mooring"
SILENT = logging.CRITICAL + 1


class Handler(logging.StreamHandler[TextIO]):
    """Ours, so that setting up again replaces it and touches nobody else's.

    `modules` are verbosities of single modules (`--vmodule`); all others have the one that is set.
    """

    def __init__(self, stream: TextIO, modules: Sequence[tuple[str, int]] = ()) -> None:
        super().__init__(stream)
        self.verbosity = 0
        self.modules = modules
        self.clock: Callable[[], float] | None = None
        self.errors = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.errors += record.levelno >= logging.ERROR
        if self.clock is not None:
            record.created = self.clock()
        super().emit(record)

    def filter(self, record: logging.LogRecord) -> bool:
        if self.modules and record.levelno < logging.INFO:
            return record.levelno >= level_of(self._verbosity_of(record))
        return True

    def _verbosity_of(self, record: logging.LogRecord) -> int:
        path = record.pathname.removesuffix(".py")
        for pattern, verbosity in self.modules:
            if fnmatchcase(path, f"*/{pattern}") if "/" in pattern else fnmatchcase(record.module, pattern):
                return verbosity
        return self.verbosity


def configure(
    verbosity: int = 0,
    form: str = "text",
    stream: TextIO | None = None,
    modules: Sequence[tuple[str, int]] = (),
) -> None:
    """Logs to a stream (standard error), as "text" or "json"; `modules` as (pattern, verbosity)."""
    _replace(Handler(stream or sys.stderr, modules), FORMATS[form]())
    logging.getLogger().setLevel(logging.WARNING)
    set_verbosity(verbosity)


def quiet(*, but_errors: bool = False) -> None:
    """Logs nothing, or errors only: for commands whose output is their answer."""
    _replace(Handler(sys.stderr), FORMATS["text"]())
    level = logging.ERROR if but_errors else SILENT
    logging.getLogger().setLevel(level)
    logging.getLogger(OURS).setLevel(level)


def set_clock(clock: Callable[[], float] | None) -> None:
    """From now on lines have the time of this clock; None: the system's."""
    for handler in _ours():
        handler.clock = clock


def errors() -> int:
    """How many errors were logged since logging was set up."""
    return sum(handler.errors for handler in _ours())


def set_verbosity(verbosity: int) -> None:
    """From now on lines up to this verbosity are logged; ValueError when it is out of range."""
    if not 0 <= verbosity <= MOST:
        raise ValueError(f"{verbosity} is not between 0 and {MOST}")
    most = verbosity
    for handler in _ours():
        handler.verbosity = verbosity
        most = max([verbosity, *(each for _, each in handler.modules)])
    logging.getLogger(OURS).setLevel(level_of(most))


def verbosity() -> int:
    return verbosity_of(logging.getLogger(OURS).getEffectiveLevel())


def _replace(handler: Handler, formatter: logging.Formatter) -> None:
    handler.setFormatter(formatter)
    root = logging.getLogger()
    for old in _ours():
        root.removeHandler(old)
    root.addHandler(handler)


def _ours() -> list[Handler]:
    return [handler for handler in logging.getLogger().handlers if isinstance(handler, Handler)]
