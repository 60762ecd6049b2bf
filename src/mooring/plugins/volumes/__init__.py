"""Volumes: where the storage a pod asks for can be had.

VolumeBinding, VolumeZone, VolumeRestrictions and NodeVolumeLimits, and what they share: how a pod names its
volumes (`pod_volumes`), storage objects read once each (`storage_objects`) and looked up by name (`storage`).
"""

from mooring.plugins.volumes.binding import VolumeBinding
from mooring.plugins.volumes.limits import NodeVolumeLimits
from mooring.plugins.volumes.restrictions import VolumeRestrictions
from mooring.plugins.volumes.zone import VolumeZone

__all__ = ["NodeVolumeLimits", "VolumeBinding", "VolumeRestrictions", "VolumeZone"]
