"""Disks that a pod mounts directly, and which of them two pods cannot have on one node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from mooring.model.plain import part, text, words

RBD = "rbd"


class Disk(msgspec.Struct, frozen=True):
    """One disk. `monitors` only for RBD; a read-only disk can be shared with other read-only mounts."""

    kind: str
    name: str
    read_only: bool = False
    monitors: frozenset[str] = frozenset()

    def clashes(self, other: Disk) -> bool:
        if self.kind != other.kind or self.name != other.name or (self.read_only and other.read_only):
            return False
        return self.kind != RBD or not self.monitors.isdisjoint(other.monitors)


def disks_of(volumes: Iterable[dict[str, Any]]) -> tuple[Disk, ...]:
    """The disks among a pod's volumes."""
    return tuple(disk for volume in volumes for disk in _disks(volume))


def clash(wanted: tuple[Disk, ...], used: tuple[Disk, ...]) -> bool:
    """Some disk is wanted that the other pod uses in a way that excludes it."""
    return any(one.clashes(other) for other in used for one in wanted)


def _disks(volume: dict[str, Any]) -> Iterable[Disk]:
    if source := part(volume, "gcePersistentDisk"):
        yield Disk("gce", text(source, "pdName"), _read_only(source))
    if source := part(volume, "awsElasticBlockStore"):
        yield Disk("ebs", text(source, "volumeID"))  # never shared, read-only or not
    if source := part(volume, "iscsi"):
        yield Disk("iscsi", text(source, "iqn"), _read_only(source))
    if source := part(volume, "rbd"):
        pool = text(source, "pool") or "rbd"
        yield Disk(RBD, f"{pool}/{text(source, 'image')}", _read_only(source), words(source, "monitors"))


def _read_only(source: dict[str, Any]) -> bool:
    return source.get("readOnly") is True
