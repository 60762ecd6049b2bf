"""Health as Kubernetes components report it: named checks under /healthz, /livez and /readyz.

Plain text. `?verbose` lists every check, `?exclude=name` leaves one out, `/readyz/name` asks one alone.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec
from aiohttp import web

log = logging.getLogger("mooring.web")

RENEWAL_TOLERANCE_S = 20.0  # how long after its lease has run out a leader that hangs is still healthy
QUIET_S = 10.0  # between two lines of the log that say the same
NOT_RENEWED = "failed election to renew leadership on lease {0}"
HEADERS = {"X-Content-Type-Options": "nosniff"}


class Check(msgspec.Struct, frozen=True):
    """`failing` says what is wrong, "" when nothing is."""

    name: str
    failing: Callable[[], str]


PING = Check("ping", lambda: "")


def leader_election(lease: str, overdue: Callable[[float], bool]) -> Check:
    """A leader that no longer renews its lease is not healthy; whoever does not lead is."""
    why = NOT_RENEWED.format(lease)
    return Check("leaderElection", lambda: why if overdue(RENEWAL_TOLERANCE_S) else "")


def shutdown(is_stopping: Callable[[], bool]) -> Check:
    return Check("shutdown", lambda: "process is shutting down" if is_stopping() else "")


def informer_sync(synced: Callable[[], bool]) -> Check:
    return Check("informer-sync", lambda: "" if synced() else "informers not synced")


def handler_sync(caught_up: Callable[[], bool]) -> Check:
    """Whether the engine has taken in all there was when the scheduler started."""
    return Check("sched-handler-sync", lambda: "" if caught_up() else "handlers are not synced")


def view_freshness(stale: Callable[[], str]) -> Check:
    """Whether what is decided on is up to date; who has lost sight of pods or nodes schedules nothing."""
    return Check("view-freshness", stale)


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The checks of each path, in the order they are shown."""

    healthz: Sequence[Check] = (PING,)
    livez: Sequence[Check] = (PING,)
    readyz: Sequence[Check] = (PING,)

    def paths(self) -> Mapping[str, Sequence[Check]]:
        return {"healthz": self.healthz, "livez": self.livez, "readyz": self.readyz}

    def routes(self) -> list[web.RouteDef]:
        return [route for name, checks in self.paths().items() for route in _routes(name, checks)]


class Teller:
    """Logs a line again only when it is another, or some time has passed: anybody may ask, and often."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last = ""
        self._again_at = 0.0

    def __call__(self, line: str) -> None:
        if line != self._last or self._clock() >= self._again_at:
            self._last, self._again_at = line, self._clock() + QUIET_S
            log.info("%s", line)


def _routes(name: str, checks: Sequence[Check]) -> list[web.RouteDef]:
    teller = Teller()

    async def all_of_them(request: web.Request) -> web.Response:
        excluded = frozenset(request.query.getall("exclude", []))
        return report(name, checks, excluded, verbose="verbose" in request.query, tell=teller)

    async def one(request: web.Request) -> web.Response:
        asked = request.match_info["check"]
        for check in checks:
            if check.name == asked:
                why = check.failing()
                return _text(500, f"internal server error: {why}\n") if why else _text(200, "ok")
        return _text(404, "404 page not found\n")

    return [web.get(f"/{name}", all_of_them), web.get(f"/{name}/{{check}}", one)]


def report(
    name: str,
    checks: Sequence[Check],
    excluded: frozenset[str],
    *,
    verbose: bool,
    tell: Callable[[str], None] = log.info,
) -> web.Response:
    """What all checks of a path say. The reasons of those that fail are told, not shown."""
    lines, failed = [], []
    for check in checks:
        if check.name in excluded:
            lines.append(f"[+]{check.name} excluded: ok")
        elif why := check.failing():
            failed.append(f"{check.name}: {why}")
            lines.append(f"[-]{check.name} failed: reason withheld")
        else:
            lines.append(f"[+]{check.name} ok")
    if unknown := sorted(excluded - {check.name for check in checks}):
        names = ", ".join(f'"{each}"' for each in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
    if failed:
        tell(f"{name} check failed: {'; '.join(failed)}")
        return _text(500, "".join(f"{line}\n" for line in (*lines, f"{name} check failed")))
    if verbose:
        return _text(200, "".join(f"{line}\n" for line in (*lines, f"{name} check passed")))
    return _text(200, "ok")


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text, headers=HEADERS)
