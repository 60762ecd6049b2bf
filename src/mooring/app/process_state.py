"""What belongs to the whole process, and what a policy that is loaded has changed of it."""

from __future__ import annotations

import gc
import logging
import os
import random
import signal
import socket
import sys
import threading
import warnings
from pathlib import Path

State = dict[str, object]


def process_state() -> State:
    root = logging.getLogger()
    return {
        "signal handlers": [signal.getsignal(number) for number in sorted(signal.valid_signals())],
        "sys.path": list(sys.path),
        "the working directory": Path.cwd(),
        "the environment": dict(os.environ),
        "the filters of warnings": list(warnings.filters),
        "the root logger": (root.level, list(root.handlers), logging.root.manager.disable),
        "the state of random": random.getstate(),
        "the recursion limit": sys.getrecursionlimit(),
        "the collection of garbage": (gc.isenabled(), gc.get_threshold()),
        "the time limit of sockets": socket.getdefaulttimeout(),
        "tracing": (sys.gettrace(), sys.getprofile()),
        "threads": {thread.name for thread in threading.enumerate()},
    }


def changed(before: State) -> list[str]:
    """In words, what is not as it was."""
    now = process_state()
    return [
        f"starts {what}, which go on beside the scheduler"
        if what == "threads"
        else f"changes {what} for the whole process"
        for what, value in before.items()
        if now[what] != value
    ]
