"""What all workload controllers do: make pods of a template, and hear what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from mooring.model.objects import Node, Object, ObjectMeta, OwnerReference, Pod, PodSpec
from mooring.sim.world.workloads import RUNS_FOR, PodTemplate
from mooring.sim.world.world import World


class Follower:
    """One workload, told what becomes of its pods. Subclasses say which pods there are to be."""

    def start(self, pods: Iterable[Pod]) -> None:
        """The workload has arrived; `pods` are those of its own that exist already."""
        raise NotImplementedError

    def pod_running(self, pod: Pod) -> None:
        """A pod has a node and runs."""

    def pod_finished(self, pod: Pod) -> None:
        """A pod has done its work."""

    def pod_leaving(self, pod: Pod) -> None:
        """A pod is being deleted, but still holds its node."""

    def pod_gone(self, pod: Pod) -> None:
        """A pod was deleted before it finished."""

    def held_back(self) -> int:
        """How many pods are still to be made, when others have finished or run."""
        return 0

    def node_joined(self, node: Node) -> None:
        """The cluster has one more node."""

    def node_left(self, node: Node) -> None:
        """The cluster has one node less."""


class Controller(Follower):
    """A workload with one template.

    `labels` come on top of the template's. How long pods run is said by the template or, failing
    that, by the workload's own annotation.
    """

    def __init__(
        self, world: World, owner: Object, template: PodTemplate, *, labels: Mapping[str, str] | None = None
    ) -> None:
        self.world = world
        self.name = owner.metadata.name
        self.uid = owner.metadata.uid
        self.owner = OwnerReference(
            api_version=owner.api_version, kind=owner.kind, name=self.name, uid=self.uid, controller=True
        )
        self.template = world.admit(_pod_of(owner, template, self.owner, labels or {}))

    def make(
        self,
        *,
        name: str = "",
        base: str = "",
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        spec: PodSpec | None = None,
    ) -> Pod:
        """One more pod, named `name` or `base` with a random suffix. Pods share the template's spec."""
        meta = self.template.metadata
        meta = replace(
            meta,
            name=name,
            generate_name=base,
            labels={**meta.labels, **(labels or {})},
            annotations={**meta.annotations, **(annotations or {})},
        )
        pod = replace(self.template, metadata=meta, spec=spec or self.template.spec)
        return self.world.create_pod(pod, admitted=True)


def _pod_of(
    owner: Object, template: PodTemplate, reference: OwnerReference, labels: Mapping[str, str]
) -> Pod:
    annotations = dict(template.metadata.annotations)
    if RUNS_FOR in owner.metadata.annotations:
        annotations.setdefault(RUNS_FOR, owner.metadata.annotations[RUNS_FOR])
    meta = ObjectMeta(
        namespace=owner.metadata.namespace,
        labels={**template.metadata.labels, **labels},
        annotations=annotations,
        owner_references=(reference,),
    )
    return Pod(metadata=meta, spec=template.spec)
