"""Mistakes in whole objects, kind by kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from mooring.errors import Mistake
from mooring.sim.manifests.checks import quantities, selectors
from mooring.sim.manifests.checks.pods import not_negative, pod_spec, taint
from mooring.sim.manifests.checks.storage import claim_templates
from mooring.sim.manifests.checks.times import time_annotations
from mooring.sim.manifests.located_value import Spot

NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LONGEST = 253
HIGHEST_USER_PRIORITY = 1_000_000_000


def object_mistakes(kind: str, spot: Spot) -> Iterator[Mistake]:
    """What is wrong within one object of a typed kind."""
    yield from _name(spot.child("metadata", "name"))
    yield from time_annotations(spot.child("metadata"), on_node=kind == "Node")
    yield from CHECKS.get(kind, _nothing)(spot)


def _nothing(spot: Spot) -> Iterator[Mistake]:
    return iter(())


def _name(name: Spot) -> Iterator[Mistake]:
    if isinstance(name.value, str) and (len(name.value) > LONGEST or not NAME.fullmatch(name.value)):
        rule = 'lower case letters, digits, "-" and ".", up to 253 of them'
        yield name.wrong(f"is not a name: {rule}")


def _pod(pod: Spot) -> Iterator[Mistake]:
    yield from pod_spec(pod.child("spec"))


def _node(node: Spot) -> Iterator[Mistake]:
    yield from quantities.resource_list(node.child("status", "capacity"))
    yield from quantities.resource_list(node.child("status", "allocatable"))
    for spot in node.child("spec", "taints").items():
        yield from taint(spot)


def _workload(workload: Spot) -> Iterator[Mistake]:
    yield from not_negative(workload.child("spec", "replicas"))
    yield from selectors.label_selector(workload.child("spec", "selector"))
    yield from _selects_its_own(workload.child("spec"))
    yield from time_annotations(workload.child("spec", "template", "metadata"))
    yield from pod_spec(workload.child("spec", "template", "spec"))


def _selects_its_own(spec: Spot) -> Iterator[Mistake]:
    """A workload that does not select its own pods would create them without end."""
    if not spec.child("template").value:
        return  # which is told as such
    wanted = spec.child("selector", "matchLabels").value
    labels = spec.child("template", "metadata", "labels").value or {}
    if isinstance(wanted, dict) and isinstance(labels, dict):
        for key, value in wanted.items():
            if labels.get(key) != value:
                selector = spec.child("selector", "matchLabels", key)
                yield selector.wrong("is not among the labels of spec.template")


def _stateful(workload: Spot) -> Iterator[Mistake]:
    yield from _workload(workload)
    yield from not_negative(workload.child("spec", "ordinals", "start"))
    yield from claim_templates(workload.child("spec", "volumeClaimTemplates"))
    policy = workload.child("spec", "podManagementPolicy")
    yield from selectors.one_of(policy, ("OrderedReady", "Parallel"), or_empty=True)


def _job(job: Spot) -> Iterator[Mistake]:
    yield from not_negative(job.child("spec", "parallelism"))
    yield from not_negative(job.child("spec", "completions"))
    mode = job.child("spec", "completionMode")
    yield from selectors.one_of(mode, ("NonIndexed", "Indexed"))
    if mode.value == "Indexed" and job.child("spec", "completions").value is None:
        yield Mistake(mode.place, "spec.completions is missing: an Indexed Job needs it.")
    yield from time_annotations(job.child("spec", "template", "metadata"))
    yield from pod_spec(job.child("spec", "template", "spec"))


def _priority_class(priority_class: Spot) -> Iterator[Mistake]:
    value = priority_class.child("value")
    name = priority_class.child("metadata", "name").value
    system = isinstance(name, str) and name.startswith("system-")
    if isinstance(value.value, int) and value.value > HIGHEST_USER_PRIORITY and not system:
        yield value.wrong(f"is above {HIGHEST_USER_PRIORITY}, the highest a PriorityClass may have")
    policy = priority_class.child("preemptionPolicy")
    yield from selectors.one_of(policy, ("PreemptLowerPriority", "Never"))


CHECKS: dict[str, Callable[[Spot], Iterator[Mistake]]] = {
    "Pod": _pod,
    "Node": _node,
    "Deployment": _workload,
    "ReplicaSet": _workload,
    "DaemonSet": _workload,
    "StatefulSet": _stateful,
    "Job": _job,
    "PriorityClass": _priority_class,
}
