"""Pods as they come off the wire: the fields that are read, with parts that repeat left as they are.

Written out again, a `WireSpec` without its node is the key under which equal specs are found, and a
`WireStatus` without its time the key of equal statuses.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.kube.decode.metadata import EMPTY, WireMeta
from mooring.model.objects import PodCondition

Raw = msgspec.Raw
Wire = msgspec.Struct


class WireContainer(Wire, frozen=True, rename="camel", gc=False, omit_defaults=True):
    name: str = ""
    image: str = ""
    ports: Raw = EMPTY
    resources: Raw = EMPTY
    restart_policy: str = ""


class WireVolume(Wire, frozen=True, rename="camel", gc=False, omit_defaults=True):
    """The kinds of volumes that decide where a pod can be. Others are on every node."""

    name: str = ""
    persistent_volume_claim: Raw = EMPTY
    ephemeral: Raw = EMPTY
    csi: Raw = EMPTY
    gce_persistent_disk: Raw = EMPTY
    aws_elastic_block_store: Raw = EMPTY
    azure_disk: Raw = EMPTY
    cinder: Raw = EMPTY
    vsphere_volume: Raw = EMPTY
    portworx_volume: Raw = EMPTY
    iscsi: Raw = EMPTY
    rbd: Raw = EMPTY


class WireSpec(Wire, rename="camel", gc=False, omit_defaults=True):
    node_name: str = ""
    scheduler_name: str = ""
    priority: int | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    node_selector: Raw = EMPTY
    affinity: Raw = EMPTY
    tolerations: Raw = EMPTY
    topology_spread_constraints: Raw = EMPTY
    containers: tuple[WireContainer, ...] | None = None
    init_containers: tuple[WireContainer, ...] | None = None
    overhead: Raw = EMPTY
    resources: Raw = EMPTY
    volumes: list[WireVolume] | None = None
    scheduling_gates: Raw = EMPTY
    scheduling_group: Raw = EMPTY
    workload_ref: Raw = EMPTY
    resource_claims: Raw = EMPTY
    host_network: bool = False
    restart_policy: str = ""
    termination_grace_period_seconds: int | None = None


class WireContainerStatus(Wire, frozen=True, rename="camel", gc=False, omit_defaults=True):
    name: str = ""
    resources: Raw = EMPTY
    allocated_resources: Raw = EMPTY


class WireStatus(Wire, rename="camel", gc=False, omit_defaults=True):
    phase: str = ""
    nominated_node_name: str = ""
    start_time: str | None = None
    conditions: tuple[PodCondition, ...] | None = None
    container_statuses: tuple[WireContainerStatus, ...] | None = None
    init_container_statuses: tuple[WireContainerStatus, ...] | None = None
    resources: Raw = EMPTY
    allocated_resources: Raw = EMPTY


class WirePod(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: WireSpec = msgspec.field(default_factory=WireSpec)
    status: WireStatus = msgspec.field(default_factory=WireStatus)


VOLUME_SOURCES = {
    field.name: field.encode_name for field in msgspec.structs.fields(WireVolume) if field.name != "name"
}


def is_everywhere(volume: WireVolume) -> bool:
    """Identity will do: what is not there is the default itself."""
    return (
        volume.persistent_volume_claim is EMPTY
        and volume.ephemeral is EMPTY
        and volume.csi is EMPTY
        and volume.gce_persistent_disk is EMPTY
        and volume.aws_elastic_block_store is EMPTY
        and volume.azure_disk is EMPTY
        and volume.cinder is EMPTY
        and volume.vsphere_volume is EMPTY
        and volume.portworx_volume is EMPTY
        and volume.iscsi is EMPTY
        and volume.rbd is EMPTY
    )


def plain_volume(wire: WireVolume) -> dict[str, Any]:
    sources = {field: bytes(getattr(wire, name)) for name, field in VOLUME_SOURCES.items()}
    return {"name": wire.name} | {field: msgspec.json.decode(raw) for field, raw in sources.items() if raw}
