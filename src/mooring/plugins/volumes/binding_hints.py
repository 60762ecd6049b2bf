"""Which changes of storage objects give a pod that waits for its volumes a reason to be tried again."""

from __future__ import annotations

from mooring.framework.api.events import Hint
from mooring.model.objects import Object, Pod
from mooring.plugins.volumes.pod_volumes import uses_claim
from mooring.plugins.volumes.storage_objects import MIGRATED_PLUGINS, read_capacity, read_csi_driver


def claim_of_pod(pod: Pod, old: Object | None, new: Object) -> Hint:
    """The claim is one of the pod's."""
    return Hint.QUEUE if uses_claim(pod, new) else Hint.SKIP


def class_changed(pod: Pod, old: Object | None, new: Object) -> Hint:
    """The class is new, or its volumes can be made elsewhere now."""
    if old is None or old.data.get("allowedTopologies") != new.data.get("allowedTopologies"):
        return Hint.QUEUE
    return Hint.SKIP


def csi_node_changed(pod: Pod, old: Object | None, new: Object) -> Hint:
    """The node's drivers are known now, or stand in for other in-tree plugins."""
    if old is None:
        return Hint.QUEUE
    before, after = (each.metadata.annotations.get(MIGRATED_PLUGINS, "") for each in (old, new))
    return Hint.QUEUE if before != after else Hint.SKIP


def driver_stopped_checking(pod: Pod, old: Object, new: Object) -> Hint:
    """The driver no longer asks how much room there is."""
    stopped = read_csi_driver(old).checks_capacity and not read_csi_driver(new).checks_capacity
    return Hint.QUEUE if stopped else Hint.SKIP


def more_room(pod: Pod, old: Object | None, new: Object) -> Hint:
    """Larger volumes fit than before."""
    if old is None:
        return Hint.QUEUE
    before, after = read_capacity(old).limit, read_capacity(new).limit
    return Hint.QUEUE if after is not None and (before is None or after > before) else Hint.SKIP
