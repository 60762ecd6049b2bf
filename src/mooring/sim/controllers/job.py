"""Jobs: so many pods at a time until so many have finished."""

from __future__ import annotations

import heapq
from collections.abc import Iterable

from mooring.model.objects import Object, Pod
from mooring.sim.controllers.controller import Controller
from mooring.sim.world.kubelet import is_finished
from mooring.sim.world.workloads import Job
from mooring.sim.world.world import World

INDEX = "batch.kubernetes.io/job-completion-index"


class JobController(Controller):
    """Keeps `parallelism` pods at work until `completions` have finished.

    Without `completions`, the pods of the first round are all there are: the first that finishes says
    that the work is done.
    """

    def __init__(self, world: World, owner: Object, workload: Job) -> None:
        super().__init__(world, owner, workload.spec.template, labels=_labels(owner))
        spec = workload.spec
        self._indexed = spec.completion_mode == "Indexed"
        self._parallelism = 0 if spec.suspend else spec.parallelism
        self._completions = spec.parallelism if spec.completions is None else spec.completions
        self._active: dict[str, int] = {}  # uid to index
        self._taken: set[int] = set()  # indexes of the pods that were there before
        self._freed: list[int] = []  # a heap of indexes whose pod was lost
        self._next = 0

    def start(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            index = self._index_of(pod)
            self._taken.add(index)
            if not is_finished(pod):
                self._active[pod.uid] = index
        self._fill()

    def pod_finished(self, pod: Pod) -> None:
        if self._active.pop(pod.uid, None) is not None:
            self._fill()

    def pod_leaving(self, pod: Pod) -> None:
        self.pod_gone(pod)

    def pod_gone(self, pod: Pod) -> None:
        index = self._active.pop(pod.uid, None)
        if index is not None:
            heapq.heappush(self._freed, index)
            self._fill()

    def held_back(self) -> int:
        return max(self._completions - self._next, 0) + len(self._freed) if self._parallelism else 0

    def _fill(self) -> None:
        """Makes pods for the lowest indexes that are neither done nor at work."""
        while len(self._active) < self._parallelism:
            index = self._next_index()
            if index is None:
                return
            self._active[self._make(index).uid] = index

    def _next_index(self) -> int | None:
        if self._freed:
            return heapq.heappop(self._freed)
        while self._next < self._completions:
            self._next += 1
            if self._next - 1 not in self._taken:
                return self._next - 1
        return None

    def _make(self, index: int) -> Pod:
        if not self._indexed:
            return self.make(base=f"{self.name}-")
        mark = {INDEX: str(index)}
        return self.make(base=f"{self.name}-{index}-", labels=mark, annotations=mark)

    def _index_of(self, pod: Pod) -> int:
        """The index a pod carries, or the next free one."""
        text = pod.annotations.get(INDEX, "")
        if text.isdecimal():
            return int(text)
        return next(index for index in range(len(self._taken) + 1) if index not in self._taken)


def _labels(owner: Object) -> dict[str, str]:
    name, uid = owner.metadata.name, owner.metadata.uid
    return {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": name,
        "controller-uid": uid,
        "job-name": name,
    }
