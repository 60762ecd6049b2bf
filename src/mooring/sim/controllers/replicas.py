"""ReplicaSets, and the one ReplicaSet behind a Deployment.

A pod that finishes counts as a replica that had its time: only pods that are evicted, or lost with
their node, are replaced. Otherwise a workload with a run time would start over for ever.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.model.objects import Object, ObjectMeta, OwnerReference, Pod
from mooring.sim.controllers.controller import Controller
from mooring.sim.world.kubelet import is_finished
from mooring.sim.world.naming import template_hash
from mooring.sim.world.workloads import Deployment, ReplicaSet
from mooring.sim.world.world import World

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class ReplicaSetController(Controller):
    """Keeps `replicas` pods, minus those that have had their time."""

    def __init__(self, world: World, owner: Object, workload: ReplicaSet) -> None:
        super().__init__(world, owner, workload.spec.template)
        self._missing = workload.spec.replicas
        self._live: set[str] = set()

    def start(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            self._missing -= 1
            if not is_finished(pod):
                self._live.add(pod.uid)
        self._top_up()

    def pod_finished(self, pod: Pod) -> None:
        self._live.discard(pod.uid)

    def pod_leaving(self, pod: Pod) -> None:
        """Replaced at once: a ReplicaSet does not count pods that are on their way out."""
        self.pod_gone(pod)

    def pod_gone(self, pod: Pod) -> None:
        if pod.uid in self._live:
            self._live.discard(pod.uid)
            self._missing += 1
            self._top_up()

    def _top_up(self) -> None:
        while self._missing > 0:
            self._missing -= 1
            self._live.add(self.make(base=f"{self.name}-").uid)


def replica_set_of(owner: Object, deployment: Deployment, suffix: str = "") -> Object:
    """The ReplicaSet a Deployment makes, as plain data; named after a hash of the template."""
    suffix = suffix or template_hash(deployment.spec.template)
    template = _with_labels(msgspec.to_builtins(deployment.spec.template), suffix)
    spec: dict[str, Any] = {"replicas": deployment.spec.replicas, "template": template}
    if deployment.spec.selector is not None:
        selector = msgspec.to_builtins(deployment.spec.selector)
        labels = {**selector.get("matchLabels", {}), HASH_LABEL: suffix}
        spec["selector"] = {**selector, "matchLabels": labels}
    meta = _meta(owner, suffix, template["metadata"]["labels"])
    data = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": msgspec.to_builtins(meta),
        "spec": spec,
    }
    return Object(api_version="apps/v1", kind="ReplicaSet", metadata=meta, data=data)


def _with_labels(template: dict[str, Any], suffix: str) -> dict[str, Any]:
    meta = template.get("metadata", {})
    return {**template, "metadata": {**meta, "labels": {**meta.get("labels", {}), HASH_LABEL: suffix}}}


def _meta(owner: Object, suffix: str, labels: dict[str, str]) -> ObjectMeta:
    of = owner.metadata
    reference = OwnerReference(
        api_version=owner.api_version, kind="Deployment", name=of.name, uid=of.uid, controller=True
    )
    annotations = {key: value for key, value in of.annotations.items() if key != LAST_APPLIED}
    return ObjectMeta(
        name=f"{of.name}-{suffix}",
        namespace=of.namespace,
        labels=labels,
        annotations={**annotations, REVISION: "1"},
        owner_references=(reference,),
    )


def read_replica_set(plain: Object) -> ReplicaSet:
    """A ReplicaSet made by `replica_set_of`, as a type."""
    return replace(msgspec.convert(plain.data, ReplicaSet), metadata=plain.metadata)
