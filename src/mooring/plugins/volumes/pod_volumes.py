"""What a pod's spec says of its volumes, worked out once and kept on the spec as other derived values are."""

from __future__ import annotations

import msgspec

from mooring.model.objects import Object, Pod, PodSpec
from mooring.model.plain import part, text
from mooring.plugins.volumes.disks import Disk, disks_of
from mooring.plugins.volumes.migration import CsiVolume, in_tree_volume
from mooring.plugins.volumes.storage_objects import Claim

KEPT_AS = "pod_volumes"
NOT_OWNER = "PVC {claim} was not created for pod {pod} (pod is not owner)"


class ClaimUse(msgspec.Struct, frozen=True):
    """A volume by claim: `name` is the claim's or, of an ephemeral volume, the volume's own."""

    name: str
    ephemeral: bool = False

    def claim_name(self, pod: Pod) -> str:
        """The claim of an ephemeral volume is named after the pod and the volume."""
        return f"{pod.metadata.name}-{self.name}" if self.ephemeral else self.name

    def key(self, pod: Pod) -> str:
        return f"{pod.metadata.namespace}/{self.claim_name(pod)}"


class PodVolumes(msgspec.Struct, frozen=True):
    """The volumes of a spec that plugins here have a say in."""

    claims: tuple[ClaimUse, ...] = ()
    disks: tuple[Disk, ...] = ()
    inline: tuple[CsiVolume, ...] = ()  # in-tree volumes that a CSI driver may stand in for
    named_claims: tuple[str, ...] = ()  # those of `claims` that the pod names itself


def _volumes(spec: PodSpec) -> PodVolumes:
    claims, inline = [], []
    for volume in spec.volumes:
        if isinstance(volume.get("persistentVolumeClaim"), dict):
            claims.append(ClaimUse(text(part(volume, "persistentVolumeClaim"), "claimName")))
        elif volume.get("ephemeral") is not None:
            claims.append(ClaimUse(text(volume, "name"), ephemeral=True))
        elif (disk := in_tree_volume(volume, {})) is not None:
            inline.append(disk)
    uses = tuple(dict.fromkeys(claims))  # a claim mounted twice is one claim
    named = tuple(use.name for use in uses if not use.ephemeral)
    found = PodVolumes(uses, disks_of(spec.volumes), tuple(inline), named)
    return found if found != NONE else NONE


NONE = PodVolumes()


def volumes_of(spec: PodSpec) -> PodVolumes:
    if not spec.volumes:
        return NONE
    known: PodVolumes | None = spec.__dict__.get(KEPT_AS)
    if known is None:
        known = spec.__dict__[KEPT_AS] = _volumes(spec)
    return known


def uses_claim(pod: Pod, claim: Object) -> bool:
    """The pod has a volume by that claim, ephemeral ones included."""
    if claim.metadata.namespace != pod.metadata.namespace:
        return False
    return any(use.claim_name(pod) == claim.metadata.name for use in volumes_of(pod.spec).claims)


def not_owner(pod: Pod, claim: Claim) -> str:
    """Why an ephemeral volume cannot use a claim that happens to have its name; "" when it can."""
    return "" if claim.owner == pod.metadata.uid else NOT_OWNER.format(claim=claim.key, pod=pod.key)
