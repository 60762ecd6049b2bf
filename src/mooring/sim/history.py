"""What a run has come to: who was placed where, who was evicted, how full the cluster was.

It listens to the world, so it knows of pods that were running from the start as well.
"""

from __future__ import annotations

from collections.abc import Collection

from mooring.engine.events import Event, NodeAdded, NodeChanged, NodeDeleted, PodAdded, PodChanged, PodDeleted
from mooring.model.objects import Pod
from mooring.model.requests import Request
from mooring.sim.usage import Usage
from mooring.sim.world.kubelet import is_finished


class History:
    """Keeps the book of a run. `own` are the names of the scheduler being run."""

    def __init__(self, own: Collection[str]) -> None:
        self.placements: dict[str, str] = {}
        self.evicted: dict[str, None] = {}  # an ordered set
        self.pods: set[str] = set()
        self.pending: dict[str, Pod] = {}  # uid to pod: those the scheduler is to place
        self.usage = Usage()
        self._own = own
        self._requests: dict[str, Request] = {}

    def note_finished(self, pod: Pod) -> None:
        """A pod that had finished before the run began: listeners never hear of it."""
        self.pods.add(pod.key)
        if pod.spec.node_name:
            self.placements[pod.key] = pod.spec.node_name

    def evict(self, pod: Pod) -> None:
        self.evicted[pod.key] = None
        self.placements.pop(pod.key, None)

    def hear(self, event: Event) -> None:
        match event:
            case PodAdded(pod) | PodChanged(pod):
                self._pod(pod)
            case PodDeleted(pod):
                self._gone(pod)
            case NodeAdded(node):
                self.usage.add_node(node)
            case NodeChanged(node):
                self.usage.change_node(node)
            case NodeDeleted(node):
                self.usage.remove_node(node.name)
            case _:
                pass

    def _pod(self, pod: Pod) -> None:
        self.pods.add(pod.key)
        if pod.spec.node_name:
            self.pending.pop(pod.uid, None)
            known = self._requests.pop(pod.uid) if pod.uid in self._requests else pod.request
            self.usage.take(pod, known)
            if not pod.terminating:
                self.placements[pod.key] = pod.spec.node_name
        elif pod.spec.scheduler_name in self._own:
            # Waiting pods share the spec of their template, whose request is worked out once.
            self._requests[pod.uid] = pod.request
            self.pending[pod.uid] = pod

    def _gone(self, pod: Pod) -> None:
        """A pod that finished keeps its placement; one that was taken away has none."""
        self.pending.pop(pod.uid, None)
        self._requests.pop(pod.uid, None)
        self.usage.give_back(pod)
        if not is_finished(pod):
            self.placements.pop(pod.key, None)
