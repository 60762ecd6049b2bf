"""Every state of every pod, in the order the API server made them: what happened, not only how it ended."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from http import HTTPStatus
from types import TracebackType

from e2e.amounts import Amounts, amounts, asked_by, total
from e2e.api import Api, Object, Refused, with_query
from e2e.cluster import Cluster
from e2e.state import DONE, Pod
from e2e.waiting import wait_for

PODS = "/api/v1/pods"
WATCH_SECONDS = 120
PAUSE_SECONDS = 0.2


class Expired(Exception):
    """The server does not know any more what happened since then."""


class Audit:
    """Watches pods from when it is entered; `check` looks through all that was seen.

    It asks the API server itself, past any proxy, and takes a watch up where it ended. A server that has
    started anew does not know what was before: then it is listed what there is, and what came of each pod
    is known all the same.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.api: Api = cluster.api
        self.events: list[Object] = []
        self._bound: set[str] = set()
        self._changed = threading.Condition()
        self._over = threading.Event()
        self._socket: socket.socket | None = None
        self._thread = threading.Thread(target=self._watch, name="audit", daemon=True)

    def __enter__(self) -> Audit:
        listed = self.api.get(PODS)
        assert not listed["items"], "an audit begins before the first pod"
        self._version = str(listed["metadata"]["resourceVersion"])
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._over.set()
        if (open_now := self._socket) is not None:
            with suppress(OSError):
                open_now.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    @property
    def bound(self) -> int:
        """How many pods have got a node so far."""
        return len(self._bound)

    def wait_bound(self, count: int, timeout: float) -> bool:
        """Until so many pods have got a node, at once when the last of them has; False when time is up."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._bound) >= count, timeout)

    def check(self, expected: Iterable[Pod], *, within: float = 60) -> None:
        """All these pods end bound; at no moment was a pod on two nodes, or a node taken twice over."""
        uids = {pod.uid: pod.key for pod in expected}
        wait_for(lambda: not self._unbound(uids), within=within, saying=f"{len(uids)} pods to be bound",
                 tail=lambda: f"not bound: {self._unbound(uids)}")  # fmt: skip
        state = self.cluster.state()
        state.check_no_overcommit()
        there = {pod.uid for pod in state.pods.values()}
        lost = sorted(key for uid, key in uids.items() if uid not in there)
        assert not lost, f"lost: {lost}"
        self.check_history(state.nodes)
        self.check_told()

    def check_history(self, nodes: dict[str, Object]) -> None:
        """At no moment was a pod on two nodes, or a node that still exists taken twice over."""
        has = {name: amounts(each["status"]["allocatable"]) for name, each in nodes.items()}
        placed: dict[str, Pod] = {}
        taken: defaultdict[str, dict[str, Amounts]] = defaultdict(dict)
        wrong: list[str] = []
        for event in list(self.events):
            pod = Pod(event["object"])
            before = placed.get(pod.uid)
            if before is not None and before.node:
                if before.node != pod.node:
                    wrong.append(f"{pod.key} went from {before.node} to {pod.node!r}")
                taken[before.node].pop(pod.uid, None)
            placed[pod.uid] = pod
            if not pod.node or pod.phase in DONE or event["type"] == "DELETED":
                continue
            taken[pod.node][pod.uid] = asked_by(pod.raw)
            if pod.node in has and (before is None or not before.node):
                wrong += too_much(pod, total(taken[pod.node].values()), has[pod.node])
        assert not wrong, "\n".join(wrong)

    def check_told(self) -> None:
        """No pod was said to be scheduled more than once."""
        told = (each for each in self.cluster.events() if each["reason"] == "Scheduled")
        times = Counter(each["regarding"]["uid"] for each in told)
        assert max(times.values(), default=0) <= 1, times.most_common(5)

    def _unbound(self, uids: dict[str, str]) -> list[str]:
        return sorted(key for uid, key in uids.items() if uid not in self._bound)

    def _watch(self) -> None:
        while not self._over.is_set():
            try:
                self._follow()
            except Expired:
                self._list()
            except (OSError, http.client.HTTPException, ValueError):
                pass  # it is cut in the middle of a line, say
            self._over.wait(PAUSE_SECONDS)

    def _follow(self) -> None:
        """One watch, until it ends."""
        query = {"watch": "true", "resourceVersion": self._version, "timeoutSeconds": str(WATCH_SECONDS)}
        api = self.api
        connection = http.client.HTTPSConnection(api.host, api.port, timeout=WATCH_SECONDS, context=api.tls)
        try:
            connection.request("GET", with_query(PODS, query | {"allowWatchBookmarks": "true"}))
            self._socket = connection.sock
            response = connection.getresponse()
            if response.status == HTTPStatus.GONE:
                raise Expired
            if response.status != HTTPStatus.OK:  # a server that has just started is not ready for this
                return
            while not self._over.is_set() and (line := response.readline()):
                self._note(json.loads(line))
        finally:
            self._socket = None
            connection.close()

    def _list(self) -> None:
        with suppress(OSError, http.client.HTTPException, Refused):
            listed = self.api.get(PODS)
            there = {each["metadata"]["uid"]: each for each in listed["items"]}
            known = {event["object"]["metadata"]["uid"]: event for event in self.events}
            for uid, event in known.items():
                if uid not in there and event["type"] != "DELETED":
                    self._note({"type": "DELETED", "object": event["object"]})
            for each in there.values():
                self._note({"type": "MODIFIED", "object": each})
            self._version = str(listed["metadata"]["resourceVersion"])

    def _note(self, event: Object) -> None:
        if event["type"] == "ERROR":
            raise Expired(event["object"])
        self._version = event["object"]["metadata"]["resourceVersion"]
        if event["type"] == "BOOKMARK":
            return
        self.events.append(event)
        pod = Pod(event["object"])
        if pod.node and pod.uid not in self._bound:
            with self._changed:
                self._bound.add(pod.uid)
                self._changed.notify_all()


def too_much(pod: Pod, asked: Amounts, has: Amounts) -> list[str]:
    return [
        f"{pod.key} made {pod.node} carry {float(amount):g} {name} of {float(has[name]):g}"
        for name, amount in asked.items()
        if amount > has[name]
    ]
