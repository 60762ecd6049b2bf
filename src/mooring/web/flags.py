"""`/debug/flags/`: what is logged, changed while the scheduler runs. `PUT` with the new value as the body.

v is the verbosity; s the number of best scores logged for each pod; f whether the reasons of filters are.
"""

from __future__ import annotations

from collections.abc import Callable

from aiohttp import web

from mooring import logs
from mooring.logs.decisions import DecisionLog

LONGEST_VALUE = 32
TRUTHS = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}
Setter = Callable[[str], str]


def routes(decisions: DecisionLog) -> list[web.RouteDef]:
    setters: dict[str, Setter] = {
        "v": set_verbosity,
        "s": lambda value: set_top_scores(decisions, value),
        "f": lambda value: set_filters(decisions, value),
    }

    async def index(request: web.Request) -> web.Response:
        return web.Response(text="".join(f"/debug/flags/{name}\n" for name in setters))

    async def put(request: web.Request) -> web.Response:
        setter = setters.get(request.match_info["name"])
        if setter is None:
            return web.Response(status=404, text="404 page not found\n")
        value = (await request.content.read(LONGEST_VALUE)).decode("utf-8", "replace").strip()
        try:
            return web.Response(text=setter(value))
        except ValueError as error:
            return web.Response(status=400, text=f"error setting value {value!r}: {error}\n")

    return [
        web.get("/debug/flags", index),
        web.get("/debug/flags/", index),
        web.put("/debug/flags/{name}", put),
    ]


def set_verbosity(value: str) -> str:
    try:
        logs.set_verbosity(int(value))
    except ValueError as error:
        raise ValueError(f"failed set klog.logging.verbosity {value}: {error}") from None
    return f"successfully set klog.logging.verbosity to {value}"


def set_top_scores(decisions: DecisionLog, value: str) -> str:
    try:
        decisions.top_scores = int(value)
    except ValueError as error:
        raise ValueError(f"failed set debugTopNScores {value}: {error}") from None
    return f"successfully set debugTopNScores to {value}"


def set_filters(decisions: DecisionLog, value: str) -> str:
    if value.lower() not in TRUTHS:
        raise ValueError(f"failed set debugFilterFailure {value}: it is neither true nor false")
    decisions.dump_filters = TRUTHS[value.lower()]
    return f"successfully set debugFilterFailure to {value}"
