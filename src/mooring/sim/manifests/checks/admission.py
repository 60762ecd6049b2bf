"""Mistakes in what admission goes by: LimitRange, ResourceQuota and RuntimeClass."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mooring.errors import Mistake
from mooring.model.objects import Toleration
from mooring.sim.manifests.checks.selectors import one_of
from mooring.sim.manifests.checks.storage import amounts, mapping, shape, typed
from mooring.sim.manifests.located_value import Spot

SCOPES = (
    "Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass",
    "CrossNamespacePodAffinity", "VolumeAttributesClass",
)  # fmt: skip
LIMITED = ("Container", "Pod", "PersistentVolumeClaim")


def admission_mistakes(kind: str, spot: Spot) -> Iterator[Mistake]:
    return CHECKS.get(kind, _nothing)(spot)


def _nothing(spot: Spot) -> Iterator[Mistake]:
    return iter(())


def _limit_range(limit_range: Spot) -> Iterator[Mistake]:
    limits = limit_range.child("spec", "limits")
    yield from shape(limits, list, "a list")
    for item in limits.items():
        yield from mapping(item)
        yield from one_of(item.child("type"), LIMITED)
        for field in ("min", "max", "default", "defaultRequest", "maxLimitRequestRatio"):
            yield from amounts(item.child(field))


def _quota(quota: Spot) -> Iterator[Mistake]:
    spec = quota.child("spec")
    yield from amounts(spec.child("hard"))
    yield from shape(spec.child("scopes"), list, "a list")
    for scope in spec.child("scopes").items():
        yield from one_of(scope, SCOPES)
    expressions = spec.child("scopeSelector", "matchExpressions")
    yield from shape(expressions, list, "a list")
    for each in expressions.items():
        yield from mapping(each)
        yield from one_of(each.child("scopeName"), SCOPES)
        yield from one_of(each.child("operator"), ("In", "NotIn", "Exists", "DoesNotExist"))
        yield from shape(each.child("values"), list, "a list")
        for value in each.child("values").items():
            yield from shape(value, str, "text")


def _runtime_class(runtime_class: Spot) -> Iterator[Mistake]:
    yield from amounts(runtime_class.child("overhead", "podFixed"))
    selector = runtime_class.child("scheduling", "nodeSelector")
    yield from mapping(selector)
    for value in selector.entries():
        yield from shape(value, str, "text")
    for toleration in runtime_class.child("scheduling", "tolerations").items():
        yield from typed(toleration, Toleration)


CHECKS: dict[str, Callable[[Spot], Iterator[Mistake]]] = {
    "LimitRange": _limit_range,
    "ResourceQuota": _quota,
    "RuntimeClass": _runtime_class,
}
