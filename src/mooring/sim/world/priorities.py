"""Pod priority as the admission of the API server resolves it from PriorityClasses."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from mooring.model.objects import ObjectMeta, PodSpec
from mooring.sim.world.workloads import PriorityClass

BUILT_IN = (
    PriorityClass(metadata=ObjectMeta(name="system-cluster-critical"), value=2_000_000_000),
    PriorityClass(metadata=ObjectMeta(name="system-node-critical"), value=2_000_001_000),
)
NO_CLASS = PriorityClass(metadata=ObjectMeta(), value=0)


class PriorityClasses:
    """The classes of a cluster: its own and the two every cluster has."""

    def __init__(self, own: Iterable[PriorityClass] = ()) -> None:
        self._by_name = {known.metadata.name: known for known in (*BUILT_IN, *own)}
        defaults = [known for known in self._by_name.values() if known.global_default]
        self._default = min(defaults, key=lambda known: known.value, default=NO_CLASS)

    def resolve(self, spec: PodSpec) -> PodSpec:
        """The spec with its priority, class and preemption policy filled in; what it says itself stays."""
        if spec.priority is not None and not spec.priority_class_name:
            return replace(spec, preemption_policy=spec.preemption_policy or NO_CLASS.preemption_policy)
        chosen = self._by_name.get(spec.priority_class_name) if spec.priority_class_name else self._default
        chosen = chosen or NO_CLASS
        return replace(
            spec,
            priority=chosen.value if spec.priority is None else spec.priority,
            priority_class_name=spec.priority_class_name or chosen.metadata.name,
            preemption_policy=spec.preemption_policy or chosen.preemption_policy,
        )
