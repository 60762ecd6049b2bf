"""Which extenders have a say about which pods, and in which order."""

from __future__ import annotations

from collections.abc import Sequence

from mooring.config.scheduler import Extender
from mooring.model.objects import Container, Pod, PodSpec


def is_interested(extender: Extender, pod: Pod) -> bool:
    """An extender that manages no resource wants every pod, others those that name one of theirs."""
    if not extender.managed_resources:
        return True
    managed = {resource.name for resource in extender.managed_resources}
    return any(_names(container, managed) for container in _containers(pod.spec))


def asking_order(extenders: Sequence[Extender]) -> tuple[int, ...]:
    """As configured, with those whose failure does not matter last."""
    return tuple(sorted(range(len(extenders)), key=lambda index: extenders[index].ignorable))


def _containers(spec: PodSpec) -> tuple[Container, ...]:
    return (*spec.containers, *spec.init_containers)


def _names(container: Container, managed: set[str]) -> bool:
    resources = container.resources
    return not managed.isdisjoint(resources.requests) or not managed.isdisjoint(resources.limits)
