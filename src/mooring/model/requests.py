"""What a pod needs of a node, and what a node has to give.

Amounts are added up exactly and rounded up once: cpu to thousandths, everything else to units.
A quantity that is nonsense or negative raises `QuantityError`, which says whose it is.

    containers   the sum of the regular containers and of the sidecars
    peak         the most that ever runs while init containers do: one of them, beside the sidecars
                 started before it
    request      the larger of the two, per resource; requests of the pod as a whole replace it for
                 cpu, memory and huge pages; overhead comes on top
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from mooring.model.amounts import (
    LARGEST,
    Amounts,
    add,
    added,
    milli_of,
    raise_to,
    read_amounts,
    scalars_of,
    whole_of,
)
from mooring.model.quantity import NANOS_PER_MILLI, NANOS_PER_UNIT, Quantity

if TYPE_CHECKING:
    from mooring.model.objects import (
        Container,
        ContainerStatus,
        Pod,
        PodSpec,
        PodStatus,
        ResourceRequirements,
    )

DEFAULT_CPU_MILLI = 100  # what scoring supposes of a container that asks for no cpu
DEFAULT_MEMORY = 200 * 2**20  # and of one that asks for no memory

_MOST_THERE = LARGEST - 1  # of anything on a node: no node has what the largest request asks for
_DEFAULTS = {"cpu": DEFAULT_CPU_MILLI * NANOS_PER_MILLI, "memory": DEFAULT_MEMORY * NANOS_PER_UNIT}


class Request(msgspec.Struct, frozen=True, cache_hash=True):
    """What a pod needs; `nonzero_*` are what scoring supposes it needs."""

    cpu_milli: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    scalars: tuple[tuple[str, int], ...] = ()
    nonzero_cpu_milli: int = 0
    nonzero_memory: int = 0

    def amount(self, name: str) -> int:
        """Of one resource; cpu in thousandths, 0 for what is not asked for."""
        return _amount(self, name)


class Allocatable(msgspec.Struct, frozen=True):
    """What a node has to give."""

    cpu_milli: int = 0
    memory: int = 0
    ephemeral_storage: int = 0
    pods: int = 0
    scalars: tuple[tuple[str, int], ...] = ()

    def amount(self, name: str) -> int:
        """Of one resource; cpu in thousandths, 0 for what the node lacks."""
        return self.pods if name == "pods" else _amount(self, name)


def pod_request(spec: PodSpec, *, pod_level: bool = True) -> Request:
    """What a pod to be placed needs. Without `pod_level`, requests of the pod as a whole are not read."""
    asks = [_Ask(_container_asks(c), regular=True) for c in spec.containers]
    asks += [_Ask(_container_asks(c), sidecar=_is_sidecar(c)) for c in spec.init_containers]
    return _request(asks, _pod_asks(spec.resources) if pod_level else {}, _overhead(spec))


def pod_amounts(spec: PodSpec, *, limits: bool = False, overhead: bool = True) -> Amounts:
    """What the whole pod asks for, or its limits, exactly; only of resources that are named anywhere."""

    def named(of: ResourceRequirements) -> Amounts:
        return read_amounts(of.limits if limits else of.requests, "pod")

    asks = [_Ask(named(each.resources), regular=True) for each in spec.containers]
    asks += [_Ask(named(each.resources), sidecar=_is_sidecar(each)) for each in spec.init_containers]
    whole = named(spec.resources) if spec.resources is not None else {}
    total = _total(asks, {name: amount for name, amount in whole.items() if _is_pod_level(name)}, {})
    on_top = _overhead(spec) if overhead else {}
    add(total, {name: amount for name, amount in on_top.items() if name in total or not limits})
    return total


def bound_request(pod: Pod) -> Request:
    """What a pod on a node takes: during a resize, the most of what is wanted, granted and in use.

    What is wanted does not count when the node has refused it as infeasible.
    """
    spec, status = pod.spec, pod.status
    if not is_resizing(spec, status):
        return spec.request
    wanted = not _is_infeasible(pod)
    known = {s.name: s for s in (*status.container_statuses, *status.init_container_statuses)}
    asks = [_Ask(_running_asks(c, known.get(c.name), wanted), regular=True) for c in spec.containers]
    for container in spec.init_containers:
        sidecar = _is_sidecar(container)
        seen = known.get(container.name) if sidecar else None
        asks.append(_Ask(_running_asks(container, seen, wanted), sidecar=sidecar))
    return _request(asks, _running_pod_asks(pod, wanted), _overhead(spec))


def node_allocatable(resources: Mapping[str, Quantity]) -> Allocatable:
    """A node's `status.allocatable` as numbers; resources nobody schedules by are left out."""
    amounts = read_amounts(resources, "allocatable")
    return Allocatable(
        cpu_milli=min(milli_of(amounts, "cpu"), _MOST_THERE),
        memory=min(whole_of(amounts, "memory"), _MOST_THERE),
        ephemeral_storage=min(whole_of(amounts, "ephemeral-storage"), _MOST_THERE),
        pods=min(whole_of(amounts, "pods"), _MOST_THERE),
        scalars=tuple((name, min(amount, _MOST_THERE)) for name, amount in scalars_of(amounts)),
    )


class _Ask(NamedTuple):
    """What one container needs, and when it runs."""

    amounts: Amounts
    regular: bool = False
    sidecar: bool = False


def _request(asks: list[_Ask], pod_asks: Amounts, overhead: Amounts) -> Request:
    total = _total(asks, pod_asks, overhead)
    supposed = total
    # Requests of the pod as a whole leave nothing to suppose about a resource asked for anywhere.
    defaults = {name: n for name, n in _DEFAULTS.items() if not pod_asks or name not in total}
    if any(name not in ask.amounts for ask in asks for name in defaults):
        supposed = _total([ask._replace(amounts=defaults | ask.amounts) for ask in asks], pod_asks, overhead)
    return Request(
        cpu_milli=milli_of(total, "cpu"),
        memory=whole_of(total, "memory"),
        ephemeral_storage=whole_of(total, "ephemeral-storage"),
        scalars=scalars_of(total),
        nonzero_cpu_milli=milli_of(supposed, "cpu"),
        nonzero_memory=whole_of(supposed, "memory"),
    )


def _total(asks: list[_Ask], pod_asks: Amounts, overhead: Amounts) -> Amounts:
    containers: Amounts = {}
    sidecars: Amounts = {}
    peak: Amounts = {}
    for ask in asks:
        if ask.regular or ask.sidecar:
            add(containers, ask.amounts)
        if ask.sidecar:
            add(sidecars, ask.amounts)
        elif not ask.regular:
            raise_to(peak, added(ask.amounts, sidecars))
    # Sidecars alone never peak above `containers`, which holds them all.
    raise_to(containers, peak)
    containers.update(pod_asks)
    add(containers, overhead)
    return containers


def _is_sidecar(container: Container) -> bool:
    return container.restart_policy == "Always"


def _container_asks(container: Container) -> Amounts:
    requests = container.resources.requests
    return read_amounts(requests, f'container "{container.name}"') if requests else {}


def _pod_asks(resources: ResourceRequirements | None) -> Amounts:
    if resources is None:
        return {}
    requests = resources.requests
    return read_amounts({n: q for n, q in requests.items() if _is_pod_level(n)}, "pod")


def _is_pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def _overhead(spec: PodSpec) -> Amounts:
    return read_amounts(spec.overhead, "overhead") if spec.overhead else {}


def is_resizing(spec: PodSpec, status: PodStatus) -> bool:
    """Some status differs from the spec. Most running pods repeat their spec word for word."""
    if not (status.container_statuses or status.init_container_statuses or status.resources):
        return False
    known = {s.name: s for s in (*status.container_statuses, *status.init_container_statuses)}
    every = (*spec.containers, *filter(_is_sidecar, spec.init_containers))
    return _differs(spec.resources, status) or any(_differs(c.resources, known.get(c.name)) for c in every)


def _differs(spec: ResourceRequirements | None, status: ContainerStatus | PodStatus | None) -> bool:
    if spec is None or status is None or status.resources is None:
        return False
    granted = status.allocated_resources
    return status.resources.requests != spec.requests or bool(granted and granted != spec.requests)


def _is_infeasible(pod: Pod) -> bool:
    return any(c.type == "PodResizePending" and c.reason == "Infeasible" for c in pod.status.conditions)


def _running_asks(container: Container, status: ContainerStatus | None, wanted: bool) -> Amounts:
    if status is None or status.resources is None:
        return _container_asks(container)
    owner = f'container "{container.name}"'
    in_use = read_amounts(status.resources.requests, owner)
    raise_to(in_use, read_amounts(status.allocated_resources, owner))
    if wanted:
        raise_to(in_use, _container_asks(container))
    return in_use


def _running_pod_asks(pod: Pod, wanted: bool) -> Amounts:
    asks = _pod_asks(pod.spec.resources)
    if not asks or pod.status.resources is None:
        return asks
    in_use = _pod_asks(pod.status.resources)
    granted = {n: q for n, q in pod.status.allocated_resources.items() if _is_pod_level(n)}
    raise_to(in_use, read_amounts(granted, "pod"))
    if wanted:
        raise_to(in_use, asks)
    return in_use


def _amount(of: Request | Allocatable, name: str) -> int:
    match name:
        case "cpu":
            return of.cpu_milli
        case "memory":
            return of.memory
        case "ephemeral-storage":
            return of.ephemeral_storage
        case _:
            return next((amount for scalar, amount in of.scalars if scalar == name), 0)
