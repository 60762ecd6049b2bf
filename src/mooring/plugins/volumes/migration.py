"""In-tree volume plugins and the CSI drivers that stand in for them on nodes that say so."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from mooring.model.plain import part, text

UNSPECIFIED = "UNSPECIFIED"
ZONE_LABELS = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


class InTree(msgspec.Struct, frozen=True):
    """An in-tree plugin: its field in a volume, the field that names the disk, and its CSI driver."""

    plugin: str
    field: str
    disk: str
    driver: str


IN_TREE: Final = (
    InTree("kubernetes.io/aws-ebs", "awsElasticBlockStore", "volumeID", "ebs.csi.aws.com"),
    InTree("kubernetes.io/gce-pd", "gcePersistentDisk", "pdName", "pd.csi.storage.gke.io"),
    InTree("kubernetes.io/azure-disk", "azureDisk", "diskURI", "disk.csi.azure.com"),
    InTree("kubernetes.io/cinder", "cinder", "volumeID", "cinder.csi.openstack.org"),
    InTree("kubernetes.io/vsphere-volume", "vsphereVolume", "volumePath", "csi.vsphere.vmware.com"),
    InTree("kubernetes.io/portworx-volume", "portworxVolume", "volumeID", "pxd.portworx.com"),
)
BY_PLUGIN: Final = {each.plugin: each for each in IN_TREE}


class CsiVolume(msgspec.Struct, frozen=True):
    """A volume as its driver knows it. `plugin` is the in-tree plugin that it is written for, if any."""

    driver: str
    handle: str
    plugin: str = ""

    @property
    def unique(self) -> str:
        return f"{self.driver}/{self.handle}"


def csi_volume(spec: dict[str, Any], labels: dict[str, str]) -> CsiVolume | None:
    """The volume in the spec of a PersistentVolume; None for one that no driver attaches."""
    if csi := part(spec, "csi"):
        return CsiVolume(text(csi, "driver"), text(csi, "volumeHandle"))
    return in_tree_volume(spec, labels)


def in_tree_volume(spec: dict[str, Any], labels: dict[str, str]) -> CsiVolume | None:
    """An in-tree volume under the name its CSI driver gives it."""
    for each in IN_TREE:
        if source := part(spec, each.field):
            return CsiVolume(each.driver, _handle(each, text(source, each.disk), labels), each.plugin)
    return None


def _handle(tree: InTree, disk: str, labels: dict[str, str]) -> str:
    if tree.field == "awsElasticBlockStore":
        return disk.rpartition("/")[2]  # aws://zone/vol-1 and vol-1 are one disk
    if tree.field == "gcePersistentDisk":
        zone = next((labels[key] for key in ZONE_LABELS if key in labels), UNSPECIFIED)
        return f"projects/{UNSPECIFIED}/zones/{zone}/disks/{disk}"
    return disk
