"""Between the plugin's gangs and their PodGroups: what changes there is handed on to what is written here."""

from __future__ import annotations

from collections.abc import Mapping

from mooring.framework.api.handle import Handle, Lister
from mooring.model.objects import Object, Pod
from mooring.plugins.coscheduling.controller.gang import GangView
from mooring.plugins.coscheduling.controller.podgroups import PodGroups
from mooring.workloads.dialects import DIALECTS
from mooring.workloads.gang import Gang
from mooring.workloads.gang_group import GangGroup

POD_GROUP = "PodGroup."
PLACES = {
    dialect.kinds[0]: dialect.reads[0] for dialect in DIALECTS if dialect.kinds[0].startswith(POD_GROUP)
}


class Keeper:
    """Tells PodGroups of what the plugin hears."""

    def __init__(self, handle: Handle, listers: Mapping[str, Lister]) -> None:
        self._listers = listers
        self._podgroups = PodGroups(handle)
        self.follow_up = self._podgroups.follow_up

    @property
    def wake_at(self) -> float | None:
        return self._podgroups.wake_at

    def settle(self, group: GangGroup) -> None:
        """Something about the gangs of a group may be different."""
        for gang in group.gangs():
            if (seen := self._seen(gang)) is not None:
                self._podgroups.changed(seen)

    def pod_gone(self, gang: Gang | None, pod: Pod) -> None:
        """A pod is no longer followed; None: it was not a member any more."""
        self._podgroups.pod_gone(None if gang is None else self._seen(gang), pod)

    def object_gone(self, found: Object) -> None:
        kind = f"{found.kind}.{found.api_version.rpartition('/')[0]}"
        if kind in PLACES:
            self._podgroups.deleted((PLACES[kind], found.key))

    def _seen(self, gang: Gang) -> GangView | None:
        kind = gang.dialect.kinds[0]
        return GangView(gang, PLACES[kind], self._listers[kind]) if kind in PLACES else None
