"""Volumes: where the storage a pod asks for can be had.

VolumeBinding, VolumeZone, VolumeRestrictions and NodeVolumeLimits, and what they share: how a pod names its
volumes (`pod_volumes`), storage objects read once each (`storage_objects`) and looked up by name (`storage`).
"""
