"""Which volume that exists a claim gets: the one made for it, or the smallest that will do."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import msgspec

from mooring.model.selectors import Requirement, label_requirements
from mooring.plugins.volumes.storage_objects import Claim, Volume

AVAILABLE = "Available"


class Offer(msgspec.Struct, frozen=True):
    """What there is for a claim, whatever the node: a volume that is its own, or free ones by size."""

    own: Volume | None = None
    free: tuple[Volume, ...] = ()

    def pick(self, node_name: str, labels: Mapping[str, str], taken: Collection[str]) -> Volume | None:
        """The volume for a pod on a node. A claim with a volume of its own gets that one or none."""
        if self.own is not None:
            return self.own if self.own.reachable(node_name, labels) else None
        for volume in self.free:
            if volume.name not in taken and volume.reachable(node_name, labels):
                return volume
        return None

    def pick_anywhere(self) -> Volume | None:
        """The volume when the node does not matter."""
        return self.own or next(iter(self.free), None)


def offer(claim: Claim, volumes: Iterable[Volume]) -> Offer:
    """What volumes of the claim's class there are for it. Raises SelectorError for a selector unread."""
    wanted = label_requirements(claim.selector)
    free = []
    for volume in volumes:
        if not _will_do(volume, claim):
            continue
        if volume.is_for(claim):
            return Offer(own=volume)
        if volume.claim is None and _is_free(volume, claim, wanted):
            free.append(volume)
    return Offer(free=tuple(sorted(free, key=lambda volume: volume.size)))


def _will_do(volume: Volume, claim: Claim) -> bool:
    return (
        volume.size >= (claim.size or 0)
        and volume.volume_mode == claim.volume_mode
        and volume.object.metadata.deletion_timestamp is None
        and volume.attributes_class == claim.attributes_class
    )


def _is_free(volume: Volume, claim: Claim, wanted: tuple[Requirement, ...] | None) -> bool:
    """No selector (None) takes any volume."""
    return (
        volume.phase == AVAILABLE
        and volume.class_name == claim.class_name
        and claim.access_modes <= volume.access_modes
        and all(r.matches(volume.labels.get(r.key)) for r in wanted or ())
    )
