"""The API server as binding plugins see it.

A bind is never called failed while it may have been carried out: when no answer comes, or one that says
little, the pod is looked up until the server has said where it is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import msgspec

from mooring.errors import (
    ApiError,
    Conflict,
    Forbidden,
    NotFound,
    TooManyRequests,
    Unauthorized,
    Unreachable,
)
from mooring.framework.running.binding import seconds_of_sleep
from mooring.kube.client import MERGE, Client
from mooring.kube.http.backoff import Backoff, Pace
from mooring.kube.http.call_slots import BINDING, Slots
from mooring.kube.request_bodies import binding
from mooring.kube.resources import BY_KIND, PODS, Resource
from mooring.model.objects import Node, Object, ObjectMeta, Pod

log = logging.getLogger("mooring.kube")

RESENDS = 2  # how often a bind is sent again of which no trace is found
LOOKING = Pace(initial=0.2, cap=1.0, jitter=0.5)  # the pod's place is taken until there is an answer
MOST_REFUSALS = 60  # a server that has just started refuses everybody for a while; about a minute
NO_KIND = 'no matches for kind "{}"'
ELSEWHERE = 'pod {} is already assigned to node "{}"'

Sleep = Callable[[float], Awaitable[None]]


class _Meta(msgspec.Struct, frozen=True):
    uid: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Placed(msgspec.Struct, frozen=True):
    """What has to be known of a pod to say whether it is bound."""

    metadata: _Meta = _Meta()
    spec: _Spec = _Spec()


_read_placed = msgspec.json.Decoder(_Placed).decode
_read_pod = msgspec.json.Decoder(Pod).decode
_read_node = msgspec.json.Decoder(Node).decode
_encode = msgspec.json.Encoder().encode


class KubeApi:
    """The calls of `framework.handle.Api`. Errors carry the server's words.

    `parked` is entered while a plugin sleeps, so that others can be bound meanwhile.
    """

    def __init__(
        self,
        client: Client,
        slots: Slots,
        *,
        parked: Callable[[], AbstractContextManager[None]] = nullcontext,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.sent: set[str] = set()  # uids of pods that may be bound by now; whoever binds takes them out
        self.before_bind: Callable[[str], Awaitable[None]] | None = None  # is given the pod's uid
        self.elsewhere: dict[str, str] = {}  # by uid: where pods are that others have bound; likewise
        self._client = client
        self._slots = slots
        self._parked = parked
        self._sleep = sleep

    async def bind(self, pod: Pod, node_name: str) -> None:
        if self.before_bind is not None:
            await self.before_bind(pod.metadata.uid)
        slots = self._slots
        if not slots.take_now(BINDING):
            await slots.take(BINDING)
        try:
            self.sent.add(pod.metadata.uid)
            await self._bind(pod, node_name)
        finally:
            slots.give(BINDING)

    async def is_bound(self, pod: Pod, node_name: str) -> bool:
        """Whether the very pod is on the node, as the server says sooner or later."""
        try:
            return await self._node_of(pod) == node_name
        except ApiError:
            return False

    async def patch(self, kind: str, key: str, patch: dict[str, Any]) -> None:
        """A JSON merge patch. A status is written where statuses are, the rest in one write of its own."""
        resource = _resource(kind)
        status = {"status": patch["status"]} if "status" in patch else {}
        rest = {name: value for name, value in patch.items() if name != "status"}
        async with self._slots.of(BINDING):
            if rest:
                await self._client.patch(resource, key, _encode(rest), how=MERGE)
            if status:
                await self._client.patch(resource, key, _encode(status), how=MERGE, sub="status")

    async def get(self, kind: str, key: str) -> Any:
        """The object as the server has it now: a Pod, a Node, or an Object of any other kind."""
        resource = _resource(kind)
        async with self._slots.of(BINDING):
            found = await self._client.get(resource, key)
        try:
            if kind == "Pod":
                return _read_pod(found)
            return _read_node(found) if kind == "Node" else _object(resource, found)
        except msgspec.MsgspecError as error:
            raise Unreachable(0, f"the server's answer cannot be read: {error}") from None

    async def sleep(self, seconds: float) -> None:
        with self._parked():
            await self._sleep(seconds_of_sleep(seconds))

    async def _bind(self, pod: Pod, node_name: str) -> None:
        meta, resends = pod.metadata, RESENDS
        body = binding(pod, node_name)
        while True:
            try:
                await self._client.create(PODS, meta.namespace, body, name=meta.name, sub="binding")
                return
            except ApiError as error:
                if not _in_doubt(error):
                    raise
                found = await self._node_of(pod, error)
                if found == node_name:
                    return
                if found:
                    self.elsewhere[meta.uid] = found
                if found and not isinstance(error, Conflict):
                    raise Conflict(409, ELSEWHERE.format(meta.name, found)) from error
                if found or not resends or not isinstance(error, Unreachable):
                    raise
                resends -= 1

    async def _node_of(self, pod: Pod, doubt: ApiError | None = None) -> str:
        """The node a pod is on, "" for none. Asks until there is an answer; NotFound when the pod is gone."""
        backoff, refusals = Backoff(LOOKING), 0
        while True:
            try:
                placed = _read_placed(await self._client.get(PODS, pod.key))
                break
            except (msgspec.MsgspecError, ApiError) as error:
                refusals += isinstance(error, Forbidden)
                if isinstance(error, ApiError) and (not _may_pass(error) or refusals > MOST_REFUSALS):
                    raise
                log.warning("whether %s is bound is not known yet (%s): %s", pod.key, doubt, error)
                await self._sleep(backoff.next())
        if placed.metadata.uid != pod.uid:
            raise doubt or NotFound(404, f'pods "{pod.name}" not found')
        return placed.spec.node_name


def _in_doubt(error: ApiError) -> bool:
    """Whether the pod may be bound all the same: by this very call, or by one before it."""
    if isinstance(error, Unreachable):
        return error.sent
    return isinstance(error, Conflict) or error.code >= 500


def _may_pass(error: ApiError) -> bool:
    """Whether the same question may be answered later."""
    return error.code >= 500 or isinstance(error, (Unreachable, TooManyRequests, Unauthorized, Forbidden))


def _resource(kind: str) -> Resource:
    try:
        return BY_KIND[kind]
    except KeyError:
        raise NotFound(404, NO_KIND.format(kind)) from None


def _object(resource: Resource, found: bytes) -> Object:
    data = msgspec.json.decode(found, type=dict[str, Any])
    meta = msgspec.convert(data.get("metadata") or {}, ObjectMeta)
    return Object(api_version=resource.api_version, kind=resource.kind, metadata=meta, data=data)
