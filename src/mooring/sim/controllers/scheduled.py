"""CronJobs and their like: an object at each time of a schedule, until the run ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from mooring.model.objects import Object, Pod
from mooring.sim.controllers.controller import Follower
from mooring.sim.world.kubelet import is_finished
from mooring.sim.world.world import World
from mooring.workloads.owners.paths import word
from mooring.workloads.owners.schedules import Scheduled, next_time, object_at, schedules_of

FORBID, REPLACE = "Forbid", "Replace"

Make = Callable[[dict[str, Any]], None]
End = Callable[[tuple[str, str, str, str]], None]


class ScheduledController(Follower):
    """Makes what is due. While the last run is at work, its policy says whether there is another one."""

    def __init__(
        self, world: World, owner: Object, row: Scheduled, until: float, make: Make, end: End
    ) -> None:
        self._world, self._owner, self._row, self._until = world, owner, row, until
        self._make, self._end = make, end
        self._crons = schedules_of(row, owner.data)
        self._policy = word(owner.data, row.policy)
        self._last = ("", "", "", "")  # what was made last: namespace, group, kind, name

    def start(self, pods: Iterable[Pod]) -> None:
        self._plan()

    def _plan(self) -> None:
        moment = next_time(self._crons, self._world.clock.now)
        if moment is not None and moment <= self._until:
            self._world.clock.at(moment, lambda: self._due(moment))

    def _due(self, moment: float) -> None:
        is_running = self._is_running()
        if self._policy == REPLACE and is_running:
            self._end(self._last)
        if self._policy != FORBID or not is_running:
            self._run(moment)
        self._plan()

    def _run(self, moment: float) -> None:
        owner = self._owner
        made = object_at(self._row, owner.data, moment)
        reference = {
            "apiVersion": owner.api_version,
            "kind": owner.kind,
            "name": owner.metadata.name,
            "uid": owner.metadata.uid,
            "controller": True,
        }
        made["metadata"] |= {"namespace": owner.metadata.namespace, "ownerReferences": [reference]}
        group = made["apiVersion"].rpartition("/")[0]
        self._last = (owner.metadata.namespace, group, made["kind"], made["metadata"]["name"])
        self._make(made)

    def _is_running(self) -> bool:
        """Whether a pod of the last run has not finished."""
        namespace, _, kind, name = self._last
        return any(
            not is_finished(pod)
            and pod.namespace == namespace
            and any(each.kind == kind and each.name == name for each in pod.metadata.owner_references)
            for pod in self._world.pods.values()
        )
