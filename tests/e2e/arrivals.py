"""Pods that keep coming, whatever happens meanwhile: each is made once, also when the API server is away."""

from __future__ import annotations

import http.client
import random
import threading
from collections.abc import Iterable
from types import TracebackType

from e2e.api import Object, Refused
from e2e.cluster import Cluster
from e2e.state import Pod

RETRY_SECONDS = 0.2
LOOK_SECONDS = 0.02


class Arrivals:
    """Makes pods one after the other with random pauses. Use it as a context manager."""

    def __init__(
        self,
        cluster: Cluster,
        manifests: Iterable[Object],
        *,
        seed: object,
        pause: float,
        limit: int | None = None,
    ) -> None:
        self.pods: list[Pod] = []
        self.trouble = ""  # what went wrong last
        self._cluster = cluster
        self._manifests = list(manifests)
        self._random = random.Random(str(seed))
        self._pause = pause  # seconds between two pods, on average
        self.limit = limit  # so many come, until it is raised
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._come, name="arrivals", daemon=True)

    def __enter__(self) -> Arrivals:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def __str__(self) -> str:
        return f"{len(self.pods)} of {len(self._manifests)} made; the last trouble: {self.trouble}"

    def since(self, count: int) -> list[Pod]:
        """Those that have come after the first so many."""
        return self.pods[count:]

    def all(self, within: float = 60) -> list[Pod]:
        """All of them, once the last has come."""
        self._thread.join(within)
        assert len(self.pods) == len(self._manifests), str(self)
        return self.pods

    def _come(self) -> None:
        for manifest in self._manifests:
            while (
                self.limit is not None and len(self.pods) >= self.limit and not self._over.wait(LOOK_SECONDS)
            ):
                pass
            if self._over.wait(self._random.expovariate(1 / self._pause)):
                return
            while not self._over.is_set() and not self._make(manifest):
                self._over.wait(RETRY_SECONDS)

    def _make(self, manifest: Object) -> bool:
        """Whether the pod is there."""
        try:
            self.pods.append(self._made(manifest))
        except Refused as refused:
            self.trouble = str(refused)
            if refused.code < 500 and refused.code not in (403, 429):  # 403: it does not know all roles yet
                raise
            return False
        except (OSError, http.client.HTTPException) as error:
            self.trouble = repr(error)
            return False
        return True

    def _made(self, manifest: Object) -> Pod:
        try:
            return Pod(self._cluster.api.create(self._cluster.pods_path, manifest))
        except Refused as refused:
            if refused.code != 409:
                raise
            return self._cluster.pod(manifest["metadata"]["name"])  # it was made; the answer got lost
