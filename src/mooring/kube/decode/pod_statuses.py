"""What has become of pods, off the wire: as much of it as placement reads.

Pods that run the same are mostly in the same state, but for the time they started.
"""

from __future__ import annotations

import msgspec

from mooring.kube.decode.fragments import Fragments, Remembered, Words
from mooring.kube.decode.pod_specs import Template
from mooring.kube.decode.wire_pods import WireContainerStatus, WireStatus
from mooring.model.objects import (
    ContainerStatus,
    PodCondition,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Resources,
)
from mooring.model.requests import is_resizing

# Conditions placement reads when they hold; PodScheduled says more when it does not.
READ_CONDITIONS = frozenset({"DisruptionTarget", "PodResizePending", "PodResizeInProgress"})
SCHEDULED = "PodScheduled"

encode = msgspec.json.Encoder().encode
replace = msgspec.structs.replace


class StatusReader:
    """Reads the statuses of pods."""

    def __init__(self, words: Words) -> None:
        self._word = words.of
        self._amounts: Fragments[Resources] = Fragments(Resources, {})
        self._resources: Fragments[ResourceRequirements | None] = Fragments(ResourceRequirements, None)
        self._before: tuple[Remembered[bytes, PodStatus], WireStatus, PodStatus] | None = None

    def read(self, wire: WireStatus, template: Template) -> PodStatus:
        """The status of a pod that was made from the template. `wire` is used up."""
        start_time, wire.start_time = wire.start_time, None
        before = self._before
        if before is not None and before[0] is template.statuses and before[1] == wire:
            status = before[2]
        else:
            status = self._find(wire, template)
        return status if start_time is None else replace(status, start_time=start_time)

    def _find(self, wire: WireStatus, template: Template) -> PodStatus:
        key = encode(wire)
        status = template.statuses.known.get(key)
        if status is not None:
            self._before = template.statuses, wire, status
            return status
        status = self._read(wire, template.spec)
        if template.statuses.repeats(key):
            template.statuses.keep(key, status)
        return status

    def _read(self, wire: WireStatus, spec: PodSpec) -> PodStatus:
        """Container statuses are kept only while they differ from the spec, that is during a resize."""
        status = PodStatus(
            phase=self._word(wire.phase),
            nominated_node_name=self._word(wire.nominated_node_name) if wire.nominated_node_name else "",
            conditions=tuple(filter(_is_read, wire.conditions or ())),
            container_statuses=self._containers(wire.container_statuses),
            init_container_statuses=self._containers(wire.init_container_statuses),
            resources=self._resources.of(wire.resources),
            allocated_resources=self._amounts.of(wire.allocated_resources),
        )
        if is_resizing(spec, status):
            return status
        return PodStatus(
            phase=status.phase, nominated_node_name=status.nominated_node_name, conditions=status.conditions
        )

    def _containers(self, found: tuple[WireContainerStatus, ...] | None) -> tuple[ContainerStatus, ...]:
        return tuple(
            ContainerStatus(
                name=self._word(each.name),
                resources=self._resources.of(each.resources),
                allocated_resources=self._amounts.of(each.allocated_resources),
            )
            for each in found or ()
        )


def _is_read(condition: PodCondition) -> bool:
    return condition.type in READ_CONDITIONS or (condition.type == SCHEDULED and condition.status != "True")
