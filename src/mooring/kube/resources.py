"""Where the API server keeps each kind of object."""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from urllib.parse import quote

import msgspec

STORAGE = "storage.k8s.io"
DEVICES = "resource.k8s.io"


_is_plain = re.compile(r"[A-Za-z0-9._~:-]*").fullmatch


def _quoted(name: str) -> str:
    """A name as part of a path. Nearly all names are so already, and looking costs less than quoting."""
    return name if _is_plain(name) else quote(name, safe=":")


@lru_cache(1024)
def _path_of_all(root: str, namespace: str, plural: str) -> str:
    """The path of all objects in a namespace, or everywhere."""
    return f"{root}/namespaces/{_quoted(namespace)}/{plural}" if namespace else f"{root}/{plural}"


class Resource(msgspec.Struct, frozen=True, dict=True):
    """One kind of object. The core group is ""."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @cached_property
    def root(self) -> str:
        """The path under which the group's resources are."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def path(self, namespace: str = "", name: str = "", sub: str = "") -> str:
        """The path of an object, of its subresource, or of all objects in a namespace or everywhere."""
        path = _path_of_all(self.root, namespace if self.namespaced else "", self.plural)
        if name:
            path += "/" + _quoted(name)
        return f"{path}/{sub}" if sub else path

    def path_of(self, key: str, sub: str = "") -> str:
        """The path of the object with a key: "namespace/name", or "name" of what has no namespace."""
        namespace, _, name = key.rpartition("/")
        return self.path(namespace, name, sub)


PODS = Resource("", "v1", "pods", "Pod")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
PERSISTENT_VOLUMES = Resource("", "v1", "persistentvolumes", "PersistentVolume", namespaced=False)
PERSISTENT_VOLUME_CLAIMS = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
SERVICES = Resource("", "v1", "services", "Service")
REPLICATION_CONTROLLERS = Resource("", "v1", "replicationcontrollers", "ReplicationController")
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
POD_DISRUPTION_BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
STORAGE_CLASSES = Resource(STORAGE, "v1", "storageclasses", "StorageClass", namespaced=False)
CSI_NODES = Resource(STORAGE, "v1", "csinodes", "CSINode", namespaced=False)
CSI_DRIVERS = Resource(STORAGE, "v1", "csidrivers", "CSIDriver", namespaced=False)
CSI_STORAGE_CAPACITIES = Resource(STORAGE, "v1", "csistoragecapacities", "CSIStorageCapacity")
VOLUME_ATTACHMENTS = Resource(STORAGE, "v1", "volumeattachments", "VolumeAttachment", namespaced=False)
RESOURCE_CLAIMS = Resource(DEVICES, "v1", "resourceclaims", "ResourceClaim")
RESOURCE_SLICES = Resource(DEVICES, "v1", "resourceslices", "ResourceSlice", namespaced=False)
DEVICE_CLASSES = Resource(DEVICES, "v1", "deviceclasses", "DeviceClass", namespaced=False)
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")

BY_KIND = {
    resource.kind: resource
    for resource in (
        PODS,
        NODES,
        NAMESPACES,
        CONFIG_MAPS,
        PERSISTENT_VOLUMES,
        PERSISTENT_VOLUME_CLAIMS,
        SERVICES,
        REPLICATION_CONTROLLERS,
        REPLICA_SETS,
        STATEFUL_SETS,
        POD_DISRUPTION_BUDGETS,
        PRIORITY_CLASSES,
        STORAGE_CLASSES,
        CSI_NODES,
        CSI_DRIVERS,
        CSI_STORAGE_CAPACITIES,
        VOLUME_ATTACHMENTS,
        RESOURCE_CLAIMS,
        RESOURCE_SLICES,
        DEVICE_CLASSES,
        EVENTS,
        LEASES,
    )
}
