"""Sets logging up: one handler for everything, Mooring's own loggers as verbose as asked.

Libraries are heard from WARNING up. The verbosity may change while the process runs.
"""

from __future__ import annotations

import logging
import sys
from typing import TextIO

from mooring.logs.formats import FORMATS
from mooring.logs.verbosity import MOST, level_of, verbosity_of

OURS = "mooring"
SILENT = logging.CRITICAL + 1


class Handler(logging.StreamHandler[TextIO]):
    """Ours, so that setting up again replaces it and touches nobody else's."""


def configure(verbosity: int = 0, form: str = "text", stream: TextIO | None = None) -> None:
    """Logs to a stream (standard error), as "text" or "json"."""
    _replace(Handler(stream or sys.stderr), FORMATS[form]())
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
    logging.getLogger(OURS).setLevel(level_of(verbosity))


def verbosity() -> int:
    return verbosity_of(logging.getLogger(OURS).getEffectiveLevel())


def _replace(handler: Handler, formatter: logging.Formatter) -> None:
    handler.setFormatter(formatter)
    root = logging.getLogger()
    for old in [one for one in root.handlers if isinstance(one, Handler)]:
        root.removeHandler(old)
    root.addHandler(handler)
