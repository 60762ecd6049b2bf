"""Pages about the process itself: `/statusz`, `/flagz` and `/configz`."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version

import msgspec

from mooring.config.load import SchedulerConfig
from mooring.config.written import document

WARNING = (
    "Warning: This endpoint is not meant to be machine parseable, "
    "has no formatting compatibility guarantees and is for debugging purposes only."
)
NAME = "mooring"
CONFIGURATION = "kubescheduler.config.k8s.io"


def statusz(started: float, now: float, paths: Sequence[str]) -> str:
    since = datetime.datetime.fromtimestamp(started, datetime.UTC)
    rows = {
        "Started": since.strftime("%a %b %d %H:%M:%S UTC %Y"),
        "Up": str(datetime.timedelta(seconds=int(now - started))),
        "Python version": platform.python_version(),
        "Binary version": version(NAME),
        "Paths": " ".join(paths),
    }
    return _page("statusz", rows)


def flagz(flags: Mapping[str, str]) -> str:
    return _page("flagz", dict(sorted(flags.items())), "=")


def _page(what: str, rows: Mapping[str, str], between: str = ": ") -> str:
    lines = "".join(f"{name}{between}{value}\n" for name, value in rows.items())
    return f"\n{NAME} {what}\n{WARNING}\n\n{lines}"


def configz(config: SchedulerConfig) -> bytes:
    """The configuration in use, as a KubeSchedulerConfiguration in JSON."""
    return msgspec.json.encode({CONFIGURATION: document(config)})
