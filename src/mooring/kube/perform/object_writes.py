"""Carries out writes of objects of any kind that plugins ask for.

What is there already when it is created, and what is gone when it is changed or deleted, is as good as
written: the object itself has told the plugin, or will. So is an object of a kind that is not installed.
Anything else that goes wrong is logged. What may be tried again is: each write comes to the same when it is
carried out twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from typing import Any

import msgspec

from mooring.errors import ApiError, ConfigError, Conflict, NotFound
from mooring.framework.api.writes import Write
from mooring.kube import discovery
from mooring.kube.client import MERGE, Client
from mooring.kube.http.call_slots import STATUS, Slots
from mooring.kube.resources import BY_KIND, PODS, Resource

log = logging.getLogger("mooring.kube")

ABSENT_SECONDS = 30.0  # a kind that is not installed is looked for again after so long
ABSENT = "%s is not installed: nothing is written there"
NO_KIND = ("could not find the requested resource", "page not found")  # of a kind, not of an object
ALREADY_EXISTS, OTHER_OBJECT = "AlreadyExists", "UID in precondition"

_encode = msgspec.json.Encoder().encode


class Writes:
    """Writes objects through one client, and knows where their kinds are."""

    def __init__(self, client: Client, slots: Slots) -> None:
        self._client = client
        self._slots = slots
        self._found: dict[str, Resource] = {}
        self._absent: dict[str, float] = {}  # when it was last asked for, by kind
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def carry_out(self, write: Write) -> None:
        """Has it written, or logs why it is not. Never raises ApiError."""
        try:
            resource = await self._resource(write.kind)
            if resource is not None:
                await self._do(resource, write)
        except (ApiError, ConfigError) as error:
            if isinstance(error, NotFound):
                if any(words in str(error) for words in NO_KIND):
                    self._found.pop(write.kind, None)
            elif not _is_fine(write, error):
                log.warning("%s %s %s: %s", write.verb, write.kind, write.key, error)

    async def _do(self, resource: Resource, write: Write) -> None:
        if write.verb == "create":
            namespace = write.key.rpartition("/")[0]
            body = {"apiVersion": resource.api_version, "kind": resource.kind, **write.body}
            async with self._slots.of(STATUS):
                await self._client.create(resource, namespace, _encode(body), retry=True)
        elif write.verb == "delete":
            async with self._slots.of(STATUS):
                await self._client.delete(resource, write.key, uid=write.uid, retry=True)
        else:
            for sub, body in _parts(write):
                async with self._slots.of(STATUS):
                    await self._client.patch(
                        resource, write.key, _encode(body), how=MERGE, sub=sub, retry=True
                    )

    async def _resource(self, kind: str) -> Resource | None:
        """Where a kind is; None while it is not installed. Many who ask at the same time ask once."""
        if (known := known_resource(kind) or self._found.get(kind)) is not None:
            return known
        wanted = discovery.parse(kind)
        async with self._asking[kind]:
            if kind not in self._found and not self._asked_lately(kind):
                async with self._slots.of(STATUS):
                    found = await discovery.find(self._client, wanted)
                if found is None:
                    self._absent[kind] = _now()
                    log.info(ABSENT, kind)
                else:
                    self._found[kind] = found
            return self._found.get(kind)

    def _asked_lately(self, kind: str) -> bool:
        asked = self._absent.get(kind)
        return asked is not None and _now() - asked < ABSENT_SECONDS


def known_resource(kind: str) -> Resource | None:
    """A kind of Kubernetes, whichever way it is named."""
    if "/" not in kind:
        return BY_KIND.get(kind)
    try:
        return discovery.parse(kind).built_in
    except ConfigError:
        return None


def line_of(write: Write) -> str:
    """What all that is written about the same object has in common, whichever way its kind is named."""
    resource = known_resource(write.kind)
    if resource is None:
        return f"{write.kind}:{write.key}"
    return write.key if resource == PODS else f"{resource.path()}:{write.key}"


def together(earlier: Write, later: Write) -> Write | None:
    """Both in one, when they are patches of the same part of an object; None when that is not the same."""
    same = (earlier.verb, earlier.sub, earlier.uid) == (later.verb, later.sub, later.uid)
    if later.verb != "patch" or not same:
        return None
    try:
        return msgspec.structs.replace(later, body=_after(earlier.body, later.body))
    except ValueError:
        return None


def _after(earlier: Any, later: Any) -> Any:
    """A merge patch that does what two do one after the other; ValueError when there is none."""
    if not isinstance(later, dict):
        return later
    if not isinstance(earlier, dict):
        raise ValueError  # it removes all there is before the later one puts something in
    both = dict(earlier)
    for name, value in later.items():
        both[name] = _after(both[name], value) if name in both else value
    return both


def _parts(write: Write) -> list[tuple[str, dict[str, Any]]]:
    """A status is written where statuses are, the rest in one write of its own."""
    if write.sub or "status" not in write.body:
        return [(write.sub, write.body)]
    very = {"metadata": {"uid": write.uid}} if write.uid else {}
    rest = {name: value for name, value in write.body.items() if name != "status"}
    parts = [("", rest)] if rest and rest != very else []
    return [*parts, ("status", {**very, "status": write.body["status"]})]


def _is_fine(write: Write, error: ApiError | ConfigError) -> bool:
    """Whether it is there already, or another object has the name by now."""
    if not isinstance(error, Conflict):
        return False
    return error.reason == ALREADY_EXISTS if write.verb == "create" else OTHER_OBJECT in str(error)


def _now() -> float:
    return asyncio.get_running_loop().time()
