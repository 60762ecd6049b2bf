"""JSON nested as deeply as an API server takes it, which is more than Python lets msgspec follow.

Whoever may make an object of a kind that keeps unknown fields may nest ten thousand levels. Such an object is
read with a higher limit where only its outline is needed, and is one that cannot be read everywhere else.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

Value = TypeVar("Value")

DEEPEST = 10_000  # what Kubernetes' own JSON reader takes
ROOM = 2_000  # for who reads it
TOO_DEEP = "nested too deeply"

UNREADABLE = (msgspec.DecodeError, RecursionError)


def read_deeply(read: Callable[[Any], Value], data: Any) -> Value:
    """What `read` makes of data, however deep; DecodeError when it is too deep even for the API server."""
    try:
        return read(data)
    except RecursionError:
        pass
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEEPEST + ROOM))
    try:
        return read(data)
    except RecursionError:
        raise msgspec.DecodeError(TOO_DEEP) from None
    finally:
        sys.setrecursionlimit(limit)
