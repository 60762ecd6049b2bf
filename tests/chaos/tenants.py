"""Whoever makes pods and takes them away again, whatever happens meanwhile; and the kubelets' part of it.

Everything is done in order and tried until it has worked: a server that is away delays it, and no more.
"""

from __future__ import annotations

import heapq
import http.client
import threading
import time
from collections.abc import Callable, Iterable
from itertools import count
from types import TracebackType

from chaos.ledger import Ledger
from chaos.workload import FINISHED, Batch
from e2e.api import Api, Object, Refused

NAMESPACE = "chaos"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
RETRY_SECONDS = 0.2
LOOK_SECONDS = 0.02
GRACE_SECONDS = 1.0  # a pod that is being deleted takes so long to go
KEPT_SECONDS = 5.0  # so long is a pod that has finished kept
UNAVAILABLE = (403, 429)  # of those below 500; 403: the server does not know all roles yet

Act = Callable[[], None]


class Tenants:
    """Use it as a context manager. `begin` a round; `pause` and nothing more comes or goes."""

    def __init__(self, api: Api, ledger: Ledger) -> None:
        self.removed: set[str] = set()  # keys of pods that were taken away on purpose
        self.failed = ""
        self.trouble = ""  # what went wrong last
        self._api = api
        self._ledger = ledger
        self._due: list[tuple[float, int, Act]] = []
        self._number = count()
        self._going: set[str] = set()  # uids of pods the kubelet knows to be going
        self._lock = threading.Lock()
        self._running = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._live, name="tenants", daemon=True)

    def __enter__(self) -> Tenants:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def begin(self, batches: Iterable[Batch], start: float) -> None:
        """What was put off by a pause goes on as well."""
        with self._lock:
            for batch in batches:
                self._put(start + batch.at, lambda batch=batch: self._make(batch))
                self._put(start + batch.ends, lambda batch=batch: self._end(batch))
        self._running.set()

    def pause(self) -> None:
        self._running.clear()

    @property
    def behind(self) -> float:
        """Seconds by which the next thing to do is late."""
        with self._lock:
            return max(0.0, time.monotonic() - self._due[0][0]) if self._due else 0.0

    def _put(self, at: float, act: Act) -> None:
        heapq.heappush(self._due, (at, next(self._number), act))

    def _live(self) -> None:
        try:
            while not self._over.wait(LOOK_SECONDS):
                self._play_kubelet()
                while self._running.is_set() and (act := self._next()) is not None:
                    act()
        except Exception as error:
            self.failed = f"nobody makes pods any more: {error!r}"
            raise

    def _next(self) -> Act | None:
        with self._lock:
            if not self._due or self._due[0][0] > time.monotonic():
                return None
            return heapq.heappop(self._due)[2]

    def _make(self, batch: Batch) -> None:
        for manifest in batch.pods:
            self._insist(lambda manifest=manifest: self._api.create(PODS, manifest), but=409)

    def _end(self, batch: Batch) -> None:
        names = [manifest["metadata"]["name"] for manifest in batch.pods]
        self.removed.update(f"{NAMESPACE}/{name}" for name in names)
        for name in names:
            if batch.ending == FINISHED and self._is_bound(name):
                self._insist(lambda name=name: self._api.patch(f"{PODS}/{name}/status", DONE), but=404)
                with self._lock:
                    self._put(time.monotonic() + KEPT_SECONDS, lambda name=name: self._remove(name))
            else:
                self._remove(name)

    def _is_bound(self, name: str) -> bool:
        there = self._ledger.pods.get(f"{NAMESPACE}/{name}")
        return there is not None and bool(there.node)

    def _remove(self, name: str) -> None:
        self._insist(lambda: self._api.delete(f"{PODS}/{name}", grace_seconds=0), but=404)

    def _play_kubelet(self) -> None:
        """Pods others have deleted go after a while."""
        for each in self._ledger.copy_of_pods().values():
            if each.deleting and each.uid not in self._going:
                self._going.add(each.uid)
                threading.Timer(GRACE_SECONDS, self._remove, (each.name,)).start()

    def _insist(self, act: Callable[[], Object | None], *, but: int) -> None:
        """Until it has worked, or was answered `but`: then it had worked, and the answer was lost."""
        while not self._over.is_set():
            try:
                act()
                return
            except Refused as refused:
                if refused.code == but:
                    return
                if refused.code < 500 and refused.code not in UNAVAILABLE:
                    raise
                self.trouble = str(refused)
            except (OSError, http.client.HTTPException) as error:
                self.trouble = repr(error)
            self._over.wait(RETRY_SECONDS)


DONE: Object = {"status": {"phase": "Succeeded"}}
