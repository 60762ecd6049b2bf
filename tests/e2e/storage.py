"""Manifests of storage, and a provisioner played by the test."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import TracebackType

from e2e.api import Object, Refused
from e2e.cluster import Cluster
from e2e.nodes import HOSTNAME
from e2e.waiting import wait_for

NO_PROVISIONER = "kubernetes.io/no-provisioner"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
EVERY = 0.1


def storage_class(name: str, provisioner: str = NO_PROVISIONER, *, delayed: bool = True) -> Object:
    """`delayed`: volumes are bound once a pod that uses them is scheduled."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer" if delayed else "Immediate",
    }


def volume(
    name: str,
    storage: str,
    *,
    size: str = "1Gi",
    node: str = "",
    modes: Sequence[str] = ("ReadWriteOnce",),
    labels: dict[str, str] | None = None,
    claim: Object | None = None,
) -> Object:
    """A volume of a storage class, to be reached from one node only when it is named. `claim` has it."""
    spec: Object = {
        "capacity": {"storage": size},
        "accessModes": list(modes),
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": storage,
        "hostPath": {"path": f"/volumes/{name}"},
    }
    if node:
        terms = [{"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node]}]}]
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    if claim:
        spec["claimRef"] = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", **claim}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": spec,
    }


def claim(
    name: str, storage: str, *, size: str = "1Gi", modes: Sequence[str] = ("ReadWriteOnce",), bound: str = ""
) -> Object:
    """A claim, to the volume that is named when one is."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "storageClassName": storage,
            "accessModes": list(modes),
            "resources": {"requests": {"storage": size}},
            **({"volumeName": bound} if bound else {}),
        },
    }


def using(*claims: str) -> list[Object]:
    """The `volumes` of a pod that uses these claims."""
    return [{"name": f"v{number}", "persistentVolumeClaim": {"claimName": name}}
            for number, name in enumerate(claims)]  # fmt: skip


def make_available(cluster: Cluster, *made: Object) -> None:
    """Makes volumes, and returns when the controllers know them: who claims one then does not wait long."""
    cluster.apply(*made)
    paths = [f"/api/v1/persistentvolumes/{each['metadata']['name']}" for each in made]
    wait_for(
        lambda: all(cluster.api.get(path)["status"]["phase"] == "Available" for path in paths),
        saying="the volumes to be available",
    )


class Provisioner:
    """Makes a volume for each claim the scheduler has chosen a node for. Works inside `with`.

    `selected` is what it saw: the node chosen for each claim.
    """

    def __init__(self, cluster: Cluster, storage: str) -> None:
        self.storage = storage
        self.selected: dict[str, str] = {}
        self._api = cluster.api
        self._claims = f"/api/v1/namespaces/{cluster.namespace}/persistentvolumeclaims"
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> Provisioner:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._ends.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._ends.wait(EVERY):
            for each in self._api.items(self._claims):
                name, spec = each["metadata"]["name"], each["spec"]
                node = each["metadata"].get("annotations", {}).get(SELECTED_NODE, "")
                if node and spec["storageClassName"] == self.storage and name not in self.selected:
                    self.selected[name] = node
                    self._provision(each, node)

    def _provision(self, asked: Object, node: str) -> None:
        meta = asked["metadata"]
        claim = {key: meta[key] for key in ("namespace", "name", "uid", "resourceVersion")}
        try:
            self._api.create(
                "/api/v1/persistentvolumes",
                volume(f"pvc-{meta['uid']}", self.storage, node=node, claim=claim),
            )
        except Refused as refused:
            if refused.code != 409:
                raise
