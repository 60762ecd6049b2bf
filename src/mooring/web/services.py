"""The debug API under `/apis/v1/`: what the leading scheduler knows of nodes, pods and its plugins.

The paths and answers are Koordinator's; `/pods/:namespace/:name/why` is Mooring's own. Who does not lead
knows nothing worth asking and answers 503.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import msgspec
from aiohttp import web

from mooring.engine.engine import Engine
from mooring.errors import wants_the_end
from mooring.framework.api.endpoints import Endpoint, EndpointRequest
from mooring.web.node_page import node_page

log = logging.getLogger("mooring.web")

ROOT = "/apis/v1"
NOT_LEADER = "the instance is not leader"
Served = Callable[[web.Request], Awaitable[web.Response]]


class Services:
    """Routes by path, with `:word` where a path takes a value."""

    def __init__(self, engine: Engine, leads: Callable[[], bool]) -> None:
        self._leads = leads
        self._endpoints: dict[str, Endpoint] = {
            f"{ROOT}/__services__": lambda asked: self._catalogue(),
            f"{ROOT}/nodes/:nodeName": lambda asked: node_page(engine, asked.path["nodeName"]),
            f"{ROOT}/pods/:namespace/:name/why": lambda asked: engine.story(
                f"{asked.path['namespace']}/{asked.path['name']}"
            ),
        }
        for name, plugin in next(iter(engine.profiles.values())).plugins.items():
            for path, endpoint in plugin.endpoints().items():
                self._endpoints[f"{ROOT}/plugins/{name}/{path.strip('/')}"] = endpoint

    def routes(self) -> list[web.RouteDef]:
        return [web.get(_pattern(path), self._serve(one)) for path, one in self._endpoints.items()]

    def _catalogue(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self._endpoints):
            found["GET"].append(path)
        return dict(found)

    def _serve(self, endpoint: Endpoint) -> Served:
        async def serve(request: web.Request) -> web.Response:
            if not self._leads():
                return _message(HTTPStatus.SERVICE_UNAVAILABLE, NOT_LEADER)
            try:
                answer = endpoint(EndpointRequest(dict(request.match_info), dict(request.query)))
                body = None if answer is None else msgspec.json.encode(answer, enc_hook=_plain)
            except BaseException as error:  # a plugin's: it costs an answer, not the scheduler
                if wants_the_end(error):
                    raise
                log.error("no answer to %s", request.path, exc_info=error)
                return _message(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}")
            if body is None:
                return _message(HTTPStatus.NOT_FOUND, f"there is no {request.path.removeprefix(ROOT)}")
            return web.Response(body=body, content_type="application/json")

        return serve


def _pattern(path: str) -> str:
    """`:word` in aiohttp's words."""
    parts = (f"{{{part[1:]}}}" if part.startswith(":") else part for part in path.split("/"))
    return "/".join(parts)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # numbers and arrays of NumPy
        return value.tolist()
    return str(value)


def _message(status: HTTPStatus, text: str) -> web.Response:
    body = msgspec.json.encode({"message": text})
    return web.Response(status=status, body=body, content_type="application/json")
