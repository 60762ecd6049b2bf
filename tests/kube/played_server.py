"""An API server played in memory, as a sender of requests: pods, Events, and whatever goes wrong."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from kube.scripted import Answer, Following
from mooring.errors import Unreachable
from mooring.kube.http.transport import Request, Stream
from mooring.model.objects import Pod

Happens = Callable[[Request], bool]

LOST = "lost"  # it is carried out, and the answer never comes
UNHEARD = "unheard"  # it is not carried out, and whoever asked cannot know
UNSENT = "unsent"  # it never left
HANGS = "hangs"  # it stays without an answer, for ever


def refusal(status: int, message: str, reason: str = "") -> Answer:
    return Answer(status, {"kind": "Status", "code": status, "message": message, "reason": reason})


class PlayedServer(Following):
    """Keeps what it was asked in `asked`; `faults` are looked through for each request, first come first."""

    def __init__(self) -> None:
        self.pods: dict[str, dict[str, Any]] = {}
        self.events: list[dict[str, Any]] = []
        self.asked: list[tuple[str, str, Any]] = []  # method, path, body
        self.deleted: list[str] = []
        self.faults: list[tuple[Happens, str | Answer, int]] = []  # when, what, how often still
        self.delay: Callable[[], float] = lambda: 0.0
        self.in_flight = self.most_in_flight = 0
        self.others: dict[str, dict[str, Any]] = {}  # objects of other kinds, by path

    def holds(self, pod: Pod) -> None:
        """The server has this pod."""
        meta = {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid}
        self.pods[pod.key] = {"metadata": meta, "spec": {}, "status": {}}

    def fails(self, what: str | Answer, *, method: str = "", path: str = "", times: int = 1) -> None:
        self.faults.append((lambda r: r.method == (method or r.method) and path in r.path, what, times))

    def writes(self, part: str = "") -> list[tuple[str, str, Any]]:
        """What was asked for, apart from Events and looks."""
        return [
            each for each in self.asked if "/events" not in each[1] and each[0] != "GET" and part in each[1]
        ]

    @asynccontextmanager
    async def follow(self, request: Request) -> AsyncIterator[Stream]:
        self.asked.append((request.method, request.path, json.loads(request.body or b"null")))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            await asyncio.sleep(self.delay())
            answer = await self._answer(request)
        finally:
            self.in_flight -= 1
        yield answer

    async def _answer(self, request: Request) -> Answer:
        fault = self._fault(request)
        if isinstance(fault, Answer):
            return fault
        if fault == HANGS:
            await asyncio.get_running_loop().create_future()
        answer = self._carry_out(request) if fault in (None, LOST) else None
        if answer is None or fault is not None:
            raise Unreachable(0, "no answer", sent=fault != UNSENT)
        return answer

    def _fault(self, request: Request) -> str | Answer | None:
        for number, (happens, what, times) in enumerate(self.faults):
            if happens(request):
                self.faults[number : number + 1] = [(happens, what, times - 1)] if times > 1 else []
                return what
        return None

    def _carry_out(self, request: Request) -> Answer:
        parts = request.path.strip("/").split("/")
        body = json.loads(request.body or b"null")
        if "events.k8s.io" in parts:
            return self._event(request.method, parts, body)
        if "pods" not in parts:
            return self._other(request, body)
        at = parts.index("pods")
        key, sub = f"{parts[at - 1]}/{parts[at + 1]}", "/".join(parts[at + 2 :])
        pod = self.pods.get(key)
        if pod is None:
            return refusal(404, f'pods "{parts[at + 1]}" not found', "NotFound")
        return self._pod(request.method, key, pod, sub, body)

    def _pod(self, method: str, key: str, pod: dict[str, Any], sub: str, body: Any) -> Answer:
        meta = pod["metadata"]
        wanted = _uid_in(body)
        if wanted not in (None, meta["uid"]):
            what = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {meta['uid']}"
            return refusal(409, what, "Conflict")
        if method == "POST" and sub == "binding":
            if node := pod["spec"].get("nodeName"):
                what = f'pod {meta["name"]} is already assigned to node "{node}"'
                return refusal(409, f'Operation cannot be fulfilled on pods/binding "{meta["name"]}": {what}')
            pod["spec"]["nodeName"] = body["target"]["name"]
            return Answer(201, {"kind": "Status", "status": "Success"})
        if method == "DELETE":
            del self.pods[key]
            self.deleted.append(key)
        elif method == "PATCH":
            _merge(pod, body)
        return Answer(200, pod)

    def _event(self, method: str, parts: list[str], body: Any) -> Answer:
        if method == "POST":
            self.events.append(body)
            return Answer(201, body)
        for event in self.events:
            if event["metadata"]["name"] == parts[-1]:
                event.update(body)
                return Answer(200, event)
        return refusal(404, "no such event", "NotFound")

    def _other(self, request: Request, body: Any) -> Answer:
        path = request.path.removesuffix("/status")
        if request.method == "POST":
            return self._made(f"{path}/{body['metadata']['name']}", body)
        if path not in self.others:
            return refusal(404, "not found", "NotFound")
        there = (self.others[path].get("metadata") or {}).get("uid")
        if (wanted := _uid_in(body)) not in (None, there):
            return refusal(409, f"Precondition failed: UID in precondition: {wanted}", "Conflict")
        if request.method == "PATCH":
            _merge(self.others[path], body)
        if request.method == "DELETE":
            self.deleted.append(path)
            return Answer(200, self.others.pop(path))
        return Answer(200, self.others[path])

    def _made(self, path: str, body: Any) -> Answer:
        if path in self.others:
            return refusal(409, "it is there already", "AlreadyExists")
        self.others[path] = body
        return Answer(201, body)


def _uid_in(body: Any) -> Any:
    """The uid a request is meant for."""
    body = body or {}
    return (body.get("preconditions") or body.get("metadata") or {}).get("uid")


def _merge(into: dict[str, Any], patch: dict[str, Any]) -> None:
    for name, value in patch.items():
        if name == "conditions":
            by_type = {each["type"]: each for each in into.get(name, ())}
            for each in value:
                by_type[each["type"]] = {**by_type.get(each["type"], {}), **each}
            into[name] = list(by_type.values())
        elif isinstance(value, dict):
            _merge(into.setdefault(name, {}), value)
        elif value is None:
            into.pop(name, None)
        else:
            into[name] = value
