"""Pods that controllers make and admission refuses: each comes as soon as it may.

A controller whose pod is refused tries again and again. Here the pod is held back instead, and tried again
when something has changed that admission goes by; until then its owner has a `FailedCreate` Event.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mooring.engine.events import Event, ObjectAdded, ObjectChanged, ObjectDeleted, PodDeleted
from mooring.errors import ApiError
from mooring.model.objects import OwnerReference, Pod

if TYPE_CHECKING:
    from mooring.sim.world.world import World

GOES_BY = ("LimitRange", "ResourceQuota", "RuntimeClass")


class HeldPods:
    """`refused` has why each of them does not come, by its key."""

    def __init__(self, world: World, bring: Callable[[Pod], Pod]) -> None:
        self.refused: dict[str, str] = {}
        self._world = world
        self._bring = bring
        self._pods: dict[str, Pod] = {}  # by key, in the order they were made

    def may_come(self, pod: Pod) -> bool:
        """Whether a new pod may come now. If not: ApiError, or it is held back for its controller."""
        try:
            self._world.admission.check(pod)
        except ApiError as error:
            owner = _controller_of(pod)
            if owner is None:
                raise
            self._hold(pod, owner, str(error))
            return False
        return True

    def hear(self, event: Event) -> None:
        match event:
            case PodDeleted(pod) if self._pods:
                self._try_again(pod.namespace)
            case ObjectAdded(found) | ObjectChanged(found) | ObjectDeleted(found) if self._pods:
                if found.kind in GOES_BY:
                    self._try_again(found.metadata.namespace)
            case _:
                pass

    def _try_again(self, namespace: str) -> None:
        """An empty namespace is every one."""
        for key, pod in list(self._pods.items()):
            taken = key in self._world.pods
            if namespace in ("", pod.namespace) and not taken and self.may_come(pod):
                del self._pods[key]
                del self.refused[key]
                self._bring(pod)

    def _hold(self, pod: Pod, owner: OwnerReference, why: str) -> None:
        self._pods[pod.key] = pod
        self.refused[pod.key] = why
        group = owner.api_version.rpartition("/")[0]
        about = self._world.store.objects.get((group, owner.kind), {}).get(f"{pod.namespace}/{owner.name}")
        what = f"Error creating: {why}"
        if owner.kind == "StatefulSet":
            what = f"create Pod {pod.name} in StatefulSet {owner.name} failed error: {why}"
        if about is not None:
            self._world.record("Warning", "FailedCreate", "Create", about, what)


def _controller_of(pod: Pod) -> OwnerReference | None:
    return next((each for each in pod.metadata.owner_references if each.controller), None)
