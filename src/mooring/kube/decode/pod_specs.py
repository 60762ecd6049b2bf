"""What pods ask for, off the wire: one spec for all pods that ask for the same.

A spec is looked up by what is read of it, written out again without its node and its affinity. The
affinity goes apart because in the pods of a DaemonSet it names the node, and all else is the same.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.errors import QuantityError
from mooring.kube.decode.fragments import Fragments, Remembered, Words, canonical
from mooring.kube.decode.metadata import EMPTY
from mooring.kube.decode.wire_pods import WireContainer, WireSpec, is_everywhere, plain_volume
from mooring.model.objects import (
    Affinity,
    Container,
    ContainerPort,
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

STATUSES = 64  # remembered of pods that run the same

encode = msgspec.json.Encoder().encode

Key = tuple[bytes, bytes]  # the spec but for its affinity, and the affinity
NO_AFFINITY = b""


class Template(msgspec.Struct, frozen=True, eq=False):
    """What pods ask for, and what goes with it."""

    spec: PodSpec
    derived: dict[str, Any]  # what follows from the containers
    statuses: Remembered[bytes, PodStatus]  # of pods that run these containers, by how they were sent


class SpecReader:
    """Reads the specs of pods."""

    def __init__(self, words: Words) -> None:
        self._word = words.of
        self._affinity: Fragments[Affinity | None] = Fragments(Affinity, None)
        self._fields: dict[str, Fragments[Any]] = {
            "node_selector": Fragments(dict[str, str], {}),
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
        self._templates: Remembered[Key, Template] = Remembered()
        self._by_meaning: Remembered[bytes, Template] = Remembered()
        self._containers: Remembered[bytes, tuple[Container, ...]] = Remembered()
        self._derived: Remembered[bytes, dict[str, Any]] = Remembered()
        self._before: tuple[WireSpec, bytes] = WireSpec(), encode(WireSpec())

    def read(self, wire: WireSpec) -> Template:
        """What a pod asks for, wherever it is. `wire` is used up."""
        wire.node_name = ""
        affinity, wire.affinity = wire.affinity, EMPTY
        if wire.volumes:
            wire.volumes = [each for each in wire.volumes if not is_everywhere(each)] or None
        before, body = self._before
        if wire != before:  # comparing is quicker than writing out, and pods of a workload come together
            body = encode(wire)
            self._before = wire, body
        key = (body, bytes(affinity))
        return self._templates.known.get(key) or self._learn(key, wire)

    def _learn(self, key: Key, wire: WireSpec) -> Template:
        body, affinity = key
        if affinity:
            bare = (body, NO_AFFINITY)
            made = self._with_affinity(self._templates.known.get(bare) or self._learn(bare, wire), affinity)
        else:
            made = self._template(wire)
        if self._templates.repeats(key):
            made = self._templates.keep(key, self._by_meaning.first(canonical(made.spec), made))
        return made

    def _with_affinity(self, bare: Template, affinity: bytes) -> Template:
        found = self._affinity.of(affinity)
        if found is None:
            return bare
        spec = msgspec.structs.replace(bare.spec, affinity=found)
        spec.__dict__.update(bare.derived)
        return Template(spec, bare.derived, bare.statuses)

    def _template(self, wire: WireSpec) -> Template:
        spec = self._spec(wire)
        derived = self._derive(spec, wire)
        spec.__dict__.update(derived)
        return Template(spec, derived, Remembered(STATUSES))

    def _spec(self, wire: WireSpec) -> PodSpec:
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

    def _derive(self, spec: PodSpec, wire: WireSpec) -> dict[str, Any]:
        """What depends on containers alone, worked out once for specs that have the same ones: those of a
        StatefulSet's pods all differ, because each names its claim."""
        body = encode((wire.containers, wire.init_containers, wire.overhead, wire.resources))
        derived = self._derived.known.get(body)
        if derived is None:
            try:
                derived = {"request": spec.request, "host_ports": spec.host_ports}
            except QuantityError:
                return {}  # the engine says so when it has to do with the pod
            self._derived.keep(body, derived)
        return derived

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
