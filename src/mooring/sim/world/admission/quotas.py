"""ResourceQuotas: how much the pods of a namespace may ask for altogether, and how many there may be.

Usage is counted as pods come and go. `count/pods` counts every pod there is, all else only those that
have not ended.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from mooring.model.amounts import Amounts, add
from mooring.model.objects import LabelSelectorRequirement, Object, Pod, PodAffinity, PodSpec
from mooring.model.plain import items, part, read, words
from mooring.model.quantity import NANOS_PER_UNIT, nanos
from mooring.model.requests import pod_amounts
from mooring.model.selectors import requirement_matches
from mooring.sim.world.admission.refusals import is_binary, listed

PODS, COUNT = "pods", "count/pods"
COMPUTE = ("cpu", "memory", "ephemeral-storage")
# Of these each container has to say something, once there is a quota for them.
TO_BE_SAID = frozenset({
    "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory",
})  # fmt: skip
FINISHED = ("Succeeded", "Failed")


class Quota(msgspec.Struct):
    """One ResourceQuota: what it allows, whom it is about, and what they use."""

    name: str
    namespace: str
    hard: Amounts
    binary: frozenset[str]  # resources that are written as Mi and Gi
    scopes: tuple[LabelSelectorRequirement, ...]
    used: Amounts

    def is_about(self, pod: Pod) -> bool:
        return bool(self.hard) and all(_in_scope(scope, pod) for scope in self.scopes)

    def problem(self, pod: Pod) -> str:
        """Why the pod may not come; "" if it may."""
        if not self.is_about(pod):
            return ""
        if missing := _unsaid(pod.spec, TO_BE_SAID & self.hard.keys()):
            return f"failed quota: {self.name}: must specify {missing}"
        wanted = {name: amount for name, amount in usage_of(pod).items() if amount and name in self.hard}
        over = [name for name in wanted if self.used.get(name, 0) + wanted[name] > self.hard[name]]
        if not over:
            return ""
        asked, used, hard = (listed(each, over, self.binary) for each in (wanted, self.used, self.hard))
        return f"exceeded quota: {self.name}, requested: {asked}, used: {used}, limited: {hard}"

    def charge(self, usage: Amounts) -> None:
        add(self.used, {name: amount for name, amount in usage.items() if name in self.hard})


def read_quota(found: Object) -> Quota:
    spec = part(found.data, "spec")
    hard = {name: quantity for name, quantity in part(spec, "hard").items() if is_about_pods(name)}
    scopes = [LabelSelectorRequirement(key=name, operator="Exists") for name in sorted(words(spec, "scopes"))]
    for each in items(part(spec, "scopeSelector"), "matchExpressions"):
        wanted = {**each, "key": each.get("scopeName", "")} if isinstance(each, dict) else {}
        scopes.append(read(wanted, LabelSelectorRequirement))
    return Quota(
        name=found.metadata.name,
        namespace=found.metadata.namespace,
        hard={name: nanos(quantity) for name, quantity in hard.items()},
        binary=frozenset(name for name, quantity in hard.items() if is_binary(quantity)),
        scopes=tuple(scopes),
        used={},
    )


def is_about_pods(name: str) -> bool:
    """Whether a resource of a quota is one that pods use."""
    bare = name.removeprefix("requests.")
    if name in (PODS, COUNT) or bare in COMPUTE or bare.startswith("hugepages-"):
        return True
    if name.removeprefix("limits.") in COMPUTE:
        return True
    return name != bare and "/" in bare


def usage_of(pod: Pod) -> Amounts:
    """What a pod uses of quotas."""
    usage = {COUNT: NANOS_PER_UNIT}
    if pod.status.phase not in FINISHED:
        usage |= {PODS: NANOS_PER_UNIT, **_compute(pod_amounts(pod.spec), pod_amounts(pod.spec, limits=True))}
    return usage


def _compute(requests: Amounts, limits: Amounts) -> Amounts:
    usage: Amounts = {}
    for name, amount in requests.items():
        usage[f"requests.{name}"] = amount
        if name in COMPUTE or name.startswith("hugepages-"):
            usage[name] = amount
    return usage | {f"limits.{name}": amount for name, amount in limits.items() if name in COMPUTE}


def _unsaid(spec: PodSpec, wanted: Iterable[str]) -> str:
    """`limits.cpu for: a,b; requests.cpu for: a`: what containers have to say and do not."""
    if spec.resources is not None and (spec.resources.requests or spec.resources.limits):
        return ""
    found = []
    for name in sorted(wanted):
        bare = name.removeprefix("requests.").removeprefix("limits.")
        which = "limits" if name.startswith("limits.") else "requests"
        containers = (*spec.containers, *spec.init_containers)
        silent = sorted({c.name for c in containers if bare not in getattr(c.resources, which)})
        found += [f"{name} for: {','.join(silent)}"] if silent else []
    return "; ".join(found)


def _in_scope(scope: LabelSelectorRequirement, pod: Pod) -> bool:
    match scope.key:
        case "Terminating":
            return pod.spec.active_deadline_seconds is not None
        case "NotTerminating":
            return pod.spec.active_deadline_seconds is None
        case "BestEffort":
            return _is_best_effort(pod.spec)
        case "NotBestEffort":
            return not _is_best_effort(pod.spec)
        case "PriorityClass":
            name = pod.spec.priority_class_name
            return requirement_matches(scope.operator, scope.values, name or None)
        case "CrossNamespacePodAffinity":
            return _looks_elsewhere(pod.spec)
        case _:
            return False


def _is_best_effort(spec: PodSpec) -> bool:
    every = [container.resources for container in (*spec.containers, *spec.init_containers)]
    every += [spec.resources] if spec.resources is not None else []
    return not any(name in COMPUTE[:2] for each in every for name in (*each.requests, *each.limits))


def _looks_elsewhere(spec: PodSpec) -> bool:
    affinity = spec.affinity
    if affinity is None:
        return False
    kinds: tuple[PodAffinity | None, ...] = (affinity.pod_affinity, affinity.pod_anti_affinity)
    terms = [
        term
        for kind in kinds
        if kind is not None
        for term in (
            *kind.required_during_scheduling_ignored_during_execution,
            *(p.pod_affinity_term for p in kind.preferred_during_scheduling_ignored_during_execution),
        )
    ]
    return any(term.namespaces or term.namespace_selector is not None for term in terms)
