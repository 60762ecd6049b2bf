"""LimitRanges: what containers of a namespace get by default, and how little and how much they may have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from mooring.model.amounts import Amounts
from mooring.model.objects import Container, Object, PodSpec, ResourceRequirements, Resources
from mooring.model.plain import part
from mooring.model.quantity import nanos
from mooring.model.requests import pod_amounts
from mooring.sim.world.admission.refusals import is_binary, shown


def with_defaults(spec: PodSpec, limit_range: Object) -> PodSpec:
    """The spec with default limits and requests where containers say nothing."""
    requests, limits = _defaults(limit_range)
    if not requests and not limits:
        return spec

    def filled(container: Container) -> Container:
        own = container.resources
        resources = replace(own, requests={**requests, **own.requests}, limits={**limits, **own.limits})
        return replace(container, resources=resources)

    return replace(
        spec,
        containers=tuple(map(filled, spec.containers)),
        init_containers=tuple(map(filled, spec.init_containers)),
    )


def problems(spec: PodSpec, limit_range: Object) -> list[str]:
    """For what a pod is refused."""
    found: list[str] = []
    for item in _items(limit_range):
        if item.get("type") == "Container":
            for container in (*spec.containers, *spec.init_containers):
                found += _outside(
                    item, _of(container.resources, "requests"), _of(container.resources, "limits")
                )
        elif item.get("type") == "Pod":
            requests = pod_amounts(spec, overhead=False)
            found += _outside(item, requests, pod_amounts(spec, limits=True, overhead=False))
    return found


def _items(limit_range: Object) -> list[dict[str, Any]]:
    items = part(limit_range.data, "spec").get("limits")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _defaults(limit_range: Object) -> tuple[Resources, Resources]:
    """Default requests and limits. What is missing follows from limits, maximum and minimum."""
    requests: Resources = {}
    limits: Resources = {}
    for item in _items(limit_range):
        if item.get("type") != "Container":
            continue
        default = {**part(item, "max"), **part(item, "default")}
        limits |= default
        requests |= {**part(item, "min"), **default, **part(item, "defaultRequest")}
    return requests, limits


def _of(resources: ResourceRequirements, which: str) -> Amounts:
    return {name: nanos(quantity) for name, quantity in getattr(resources, which).items()}


def _outside(item: dict[str, Any], requests: Amounts, limits: Amounts) -> Iterator[str]:
    kind = item["type"]
    for name, least in sorted(part(item, "min").items()):
        yield from _below(f"minimum {name} usage per {kind} is {_text(least)}", least, name, requests, limits)
    for name, most in sorted(part(item, "max").items()):
        yield from _above(f"maximum {name} usage per {kind} is {_text(most)}", most, name, requests, limits)
    for name, ratio in sorted(part(item, "maxLimitRequestRatio").items()):
        what = f"{name} max limit to request ratio per {kind} is {_text(ratio)}"
        yield from _too_far_apart(what, ratio, requests.get(name), limits.get(name))


def _below(what: str, least: Any, name: str, requests: Amounts, limits: Amounts) -> Iterator[str]:
    asked, limit, binary = requests.get(name), limits.get(name), is_binary(least)
    if asked is None:
        yield f"{what}.  No request is specified"
    elif asked < nanos(least):
        yield f"{what}, but request is {shown(asked, binary=binary)}"
    elif limit is not None and limit < nanos(least):
        yield f"{what}, but limit is {shown(limit, binary=binary)}"


def _above(what: str, most: Any, name: str, requests: Amounts, limits: Amounts) -> Iterator[str]:
    asked, limit, binary = requests.get(name), limits.get(name), is_binary(most)
    if limit is None:
        yield f"{what}.  No limit is specified"
    elif limit > nanos(most):
        yield f"{what}, but limit is {shown(limit, binary=binary)}"
    elif asked is not None and asked > nanos(most):
        yield f"{what}, but request is {shown(asked, binary=binary)}"


def _too_far_apart(what: str, ratio: Any, asked: int | None, limit: int | None) -> Iterator[str]:
    if not asked:
        yield f"{what}, but no request is specified or request is 0"
    elif not limit:
        yield f"{what}, but no limit is specified or limit is 0"
    elif limit * nanos(1) > asked * nanos(ratio):
        yield f"{what}, but provided ratio is {limit / asked:f}"


def _text(quantity: Any) -> str:
    return shown(nanos(quantity), binary=is_binary(quantity))
