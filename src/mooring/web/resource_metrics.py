"""`/metrics/resources`: what every pod requests and is limited to, as kube-scheduler shows it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from mooring.engine.engine import Engine
from mooring.framework.metrics.families import Family, Kind
from mooring.model.objects import Container, Pod, PodSpec, ResourceRequirements
from mooring.model.requests import Request, pod_request
from mooring.web.reading import Reading

LABELS = ("namespace", "pod", "node", "scheduler", "priority", "resource", "unit")
REQUESTS = Family(
    "kube_pod_resource_request", Kind.GAUGE, "What the pod as a whole requests of a resource.", LABELS,
    stability="STABLE",
)  # fmt: skip
LIMITS = Family(
    "kube_pod_resource_limit", Kind.GAUGE, "What the pod as a whole is limited to of a resource.", LABELS,
    stability="STABLE",
)  # fmt: skip
CORES, BYTES, INTEGER = "cores", "bytes", "integer"
FINISHED = ("Succeeded", "Failed")


def pods_of(engine: Engine) -> list[Pod]:
    """Every pod the scheduler knows, with a place or waiting for one."""
    placed = engine.cluster.pods.by_uid
    waiting = [queued.pod for queued in engine.queue if queued.pod.metadata.uid not in placed]
    return [one.pod for one in placed.values()] + waiting


def read_resources(pods: Iterable[Pod]) -> list[Reading]:
    """Reads nothing but the pods, so a thread may do it."""
    requests, limits = Reading(REQUESTS, []), Reading(LIMITS, [])
    for pod in pods:
        if not pod.spec.node_name or pod.status.phase not in FINISHED:
            _add(requests, pod, pod.spec.request)
            if has_limits(pod.spec):
                _add(limits, pod, pod_request(limits_as_requests(pod.spec)))
    return [requests, limits]


def _add(reading: Reading, pod: Pod, amounts: Request) -> None:
    meta, spec = pod.metadata, pod.spec
    priority = "" if spec.priority is None else str(spec.priority)
    head = (meta.namespace, meta.name, spec.node_name, spec.scheduler_name, priority)
    if amounts.cpu_milli:
        reading.series.append(((*head, "cpu", CORES), amounts.cpu_milli / 1000))
    others = (("memory", amounts.memory), ("ephemeral-storage", amounts.ephemeral_storage), *amounts.scalars)
    for name, amount in others:
        if amount:
            reading.series.append(((*head, name, unit_of(name)), float(amount)))


def unit_of(resource: str) -> str:
    """Kubernetes names no unit of extended resources."""
    if resource in ("memory", "ephemeral-storage", "storage") or resource.startswith("hugepages-"):
        return BYTES
    return INTEGER if resource.startswith("attachable-volumes-") else ""


def has_limits(spec: PodSpec) -> bool:
    containers = (*spec.containers, *spec.init_containers)
    return any(one.resources.limits for one in containers) or bool(spec.resources and spec.resources.limits)


def limits_as_requests(spec: PodSpec) -> PodSpec:
    """A spec that requests what the given one is limited to: limits add up the way requests do.

    Overhead comes on top of what is limited at all.
    """
    limited = {name for one in (*spec.containers, *spec.init_containers) for name in one.resources.limits}
    return msgspec.structs.replace(
        spec,
        containers=tuple(map(_limited, spec.containers)),
        init_containers=tuple(map(_limited, spec.init_containers)),
        resources=None if spec.resources is None else ResourceRequirements(requests=spec.resources.limits),
        overhead={name: amount for name, amount in spec.overhead.items() if name in limited},
    )


def _limited(container: Container) -> Container:
    return msgspec.structs.replace(
        container, resources=ResourceRequirements(requests=container.resources.limits)
    )
