"""Verbosity as levels of Python's own logging: what is logged at verbosity N has the level 20 - N.

So 0 is INFO and 10 is DEBUG, a line costs one comparison while its level is off, and any library's
loggers fit in. What a line is about is given beside its message, as `extra=fields(pod=pod, node=name)`.
"""

from __future__ import annotations

import logging
from typing import Any

MOST = 10


def level_of(verbosity: int) -> int:
    return logging.INFO - verbosity


def verbosity_of(level: int) -> int:
    return max(0, logging.INFO - level)


V2, V3, V5, V10 = map(level_of, (2, 3, 5, 10))


def fields(**about: Any) -> dict[str, Any]:
    """What a line is about, for `extra`."""
    return {"fields": about}
