"""Sets logging up: one handler for everything, Mooring's own loggers as verbose as asked.

Libraries are heard from WARNING up. The verbosity may change while the process runs.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
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


def quiet() -> None:
    """Logs nothing: for commands whose output is their answer."""
    _replace(Handler(sys.stderr), FORMATS["text"]())
    logging.getLogger().setLevel(SILENT)
    logging.getLogger(OURS).setLevel(SILENT)


def set_verbosity(verbosity: int) -> None:
    """From now on lines up to this verbosity are logged; ValueError when it is out of range."""
    if not 0 <= verbosity <= MOST:
        raise ValueError(f"{verbosity} is not between 0 and {MOST}")
    most = verbosity
    for handler in logging.getLogger().handlers:
        if isinstance(handler, Handler):
            handler.verbosity = verbosity
            most = max([verbosity, *(each for _, each in handler.modules)])
    logging.getLogger(OURS).setLevel(level_of(most))


def verbosity() -> int:
    return verbosity_of(logging.getLogger(OURS).getEffectiveLevel())


def _replace(handler: Handler, formatter: logging.Formatter) -> None:
    handler.setFormatter(formatter)
    root = logging.getLogger()
    for old in [one for one in root.handlers if isinstance(one, Handler)]:
        root.removeHandler(old)
    root.addHandler(handler)
