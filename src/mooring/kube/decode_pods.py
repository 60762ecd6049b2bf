"""Pods off the wire, in a few hundred bytes each: what placement can see, shared wherever it is equal.

Pods of a workload share everything but their identity, their node and their times. What no plugin
reads is passed over: environment, mounts, probes, volumes that exist on every node, the states of
containers. Container statuses are kept only while they differ from the spec, that is during a resize.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.errors import QuantityError
from mooring.kube.fragments import Fragments, Remembered, canonical
from mooring.kube.lists import Listed
from mooring.kube.metadata import MetaReader
from mooring.kube.wire_pods import (
    WireContainer,
    WireContainerStatus,
    WirePod,
    WireSpec,
    WireStatus,
    is_everywhere,
    plain_volume,
)
from mooring.model.objects import (
    Affinity,
    Container,
    ContainerPort,
    ContainerStatus,
    Pod,
    PodCondition,
    PodSchedulingGate,
    PodSchedulingGroup,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Resources,
    Toleration,
    TopologySpreadConstraint,
    WorkloadReference,
)
from mooring.model.requests import is_resizing

# Conditions placement reads when they hold; PodScheduled says more when it does not.
READ_CONDITIONS = frozenset({"DisruptionTarget", "PodResizePending", "PodResizeInProgress"})
SCHEDULED = "PodScheduled"

Raw = msgspec.Raw
encode = msgspec.json.Encoder().encode


Statuses = tuple[ContainerStatus, ...]


class Granted(msgspec.Struct, frozen=True, gc=False):
    """What a resize has come to, as a status says it."""

    containers: Statuses = ()
    init_containers: Statuses = ()
    resources: ResourceRequirements | None = None
    allocated: Resources = {}


NOTHING_GRANTED = Granted()


class PodDecoder:
    """Reads pods. One of it reads all pods of a cluster, so that they share what is equal."""

    def __init__(self, meta: MetaReader) -> None:
        self._decode = msgspec.json.Decoder(WirePod).decode
        self.read_list = msgspec.json.Decoder(Listed[WirePod]).decode  # looks at each byte once
        self._meta = meta
        self._word = meta.words.of
        self._fields: dict[str, Fragments[Any]] = {
            "node_selector": Fragments(dict[str, str], {}),
            "affinity": Fragments(Affinity, None),
            "tolerations": Fragments(tuple[Toleration, ...], ()),
            "topology_spread_constraints": Fragments(tuple[TopologySpreadConstraint, ...], ()),
            "overhead": Fragments(Resources, {}),
            "resources": Fragments(ResourceRequirements, None),
            "scheduling_gates": Fragments(tuple[PodSchedulingGate, ...], ()),
            "scheduling_group": Fragments(PodSchedulingGroup, None),
            "workload_ref": Fragments(WorkloadReference, None),
            "resource_claims": Fragments(tuple[dict[str, Any], ...], ()),
        }
        self._ports: Fragments[tuple[ContainerPort, ...]] = Fragments(tuple[ContainerPort, ...], ())
        self._resources: Fragments[ResourceRequirements] = Fragments(
            ResourceRequirements, ResourceRequirements()
        )
        self._specs: Remembered[bytes, PodSpec] = Remembered()
        self._specs_by_meaning: Remembered[bytes, PodSpec] = Remembered()
        self._containers: Remembered[bytes, tuple[Container, ...]] = Remembered()
        self._derived: Remembered[bytes, dict[str, Any]] = Remembered()
        self._granted: Remembered[tuple[int, bytes], tuple[PodSpec, Granted]] = Remembered()
        self._conditions: Remembered[tuple[PodCondition, ...], tuple[PodCondition, ...]] = Remembered()

    def __call__(self, raw: Raw | bytes | WirePod) -> Pod:
        wire = raw if type(raw) is WirePod else self._decode(raw)  # type: ignore[arg-type]
        node_name = wire.spec.node_name
        spec = self._spec(wire.spec)
        status = self._status(wire.status, spec)
        if node_name:
            spec = spec.on_node(self._word(node_name))
        return Pod(metadata=self._meta.read(wire.metadata), spec=spec, status=status)

    # what a pod asks for

    def _spec(self, wire: WireSpec) -> PodSpec:
        """The spec without its node: one object for all pods that ask for the same."""
        wire.node_name = ""
        if wire.volumes:
            wire.volumes = [each for each in wire.volumes if not is_everywhere(each)] or None
        key = encode(wire)
        known = self._specs.known.get(key)
        if known is None:
            known = self._read_spec(wire)
            if self._specs.repeats(key):
                known = self._specs.keep(key, self._specs_by_meaning.first(canonical(known), known))
            self._derive(known, wire)
        return known

    def _read_spec(self, wire: WireSpec) -> PodSpec:
        word = self._word
        return PodSpec(
            scheduler_name=word(wire.scheduler_name),
            priority=wire.priority,
            priority_class_name=word(wire.priority_class_name),
            preemption_policy=word(wire.preemption_policy),
            containers=self._read_containers(wire.containers),
            init_containers=self._read_containers(wire.init_containers),
            volumes=tuple(map(plain_volume, wire.volumes or ())),
            host_network=wire.host_network,
            restart_policy=word(wire.restart_policy),
            termination_grace_period_seconds=wire.termination_grace_period_seconds,
            **{name: fragments.of(getattr(wire, name)) for name, fragments in self._fields.items()},
        )

    def _derive(self, spec: PodSpec, wire: WireSpec) -> None:
        """Works out what depends on containers alone, once for specs that have the same ones.

        The specs of a DaemonSet's pods all differ, because each names its node.
        """
        body = encode((wire.containers, wire.init_containers, wire.overhead, wire.resources))
        derived = self._derived.known.get(body)
        if derived is None:
            try:
                derived = {"request": spec.request, "host_ports": spec.host_ports}
            except QuantityError:
                return  # the engine says so when it has to do with the pod
            self._derived.keep(body, derived)
        spec.__dict__.update(derived)

    def _read_containers(self, found: tuple[WireContainer, ...] | None) -> tuple[Container, ...]:
        if not found:
            return ()
        key = encode(found)
        known = self._containers.known.get(key)
        return self._containers.keep(key, tuple(map(self._container, found))) if known is None else known

    def _container(self, wire: WireContainer) -> Container:
        return Container(
            name=self._word(wire.name),
            image=self._word(wire.image),
            ports=self._ports.of(wire.ports),
            resources=self._resources.of(wire.resources),
            restart_policy=self._word(wire.restart_policy),
        )

    # what has become of it

    def _status(self, wire: WireStatus, spec: PodSpec) -> PodStatus:
        granted = self._what_is_granted(wire, spec)
        return PodStatus(
            phase=self._word(wire.phase),
            nominated_node_name=self._word(wire.nominated_node_name) if wire.nominated_node_name else "",
            start_time=wire.start_time,
            conditions=self._read_conditions(wire.conditions) if wire.conditions else (),
            container_statuses=granted.containers,
            init_container_statuses=granted.init_containers,
            resources=granted.resources,
            allocated_resources=granted.allocated,
        )

    def _read_conditions(self, conditions: tuple[PodCondition, ...]) -> tuple[PodCondition, ...]:
        kept = tuple([
            each
            for each in conditions
            if each.type in READ_CONDITIONS or (each.type == SCHEDULED and each.status != "True")
        ])  # fmt: skip
        return self._conditions.first(kept, kept) if kept else ()

    def _what_is_granted(self, wire: WireStatus, spec: PodSpec) -> Granted:
        said = (
            wire.container_statuses,
            wire.init_container_statuses,
            wire.resources,
            wire.allocated_resources,
        )
        key = (id(spec), encode(said))
        known = self._granted.known.get(key)
        if known is not None and known[0] is spec:
            return known[1]
        granted = self._read_granted(wire, spec)
        if self._granted.repeats(key):
            self._granted.keep(key, (spec, granted))
        return granted

    def _read_granted(self, wire: WireStatus, spec: PodSpec) -> Granted:
        status = PodStatus(
            container_statuses=self._read_statuses(wire.container_statuses),
            init_container_statuses=self._read_statuses(wire.init_container_statuses),
            resources=self._fields["resources"].of(wire.resources),
            allocated_resources=self._fields["overhead"].of(wire.allocated_resources),
        )
        if not is_resizing(spec, status):
            return NOTHING_GRANTED
        return Granted(
            status.container_statuses,
            status.init_container_statuses,
            status.resources,
            status.allocated_resources,
        )

    def _read_statuses(self, found: tuple[WireContainerStatus, ...] | None) -> Statuses:
        return tuple(
            ContainerStatus(
                name=self._word(each.name),
                resources=self._fields["resources"].of(each.resources),
                allocated_resources=self._fields["overhead"].of(each.allocated_resources),
            )
            for each in found or ()
        )
