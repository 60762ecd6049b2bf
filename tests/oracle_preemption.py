"""Preemption, one dry run after the other, for the slow and obvious scheduler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from mooring.model.objects import LabelSelector, Node, Object, Pod
from oracle import Outcome, Question
from oracle_domains import requirements, selects

NOBODY = "No preemption victims found for incoming pod"
HELPLESS = "Preemption is not helpful for scheduling"
NEVER = "preemption: not eligible due to preemptionPolicy=Never."
TERMINATING = "preemption: not eligible due to a terminating pod on the nominated node."
NOT_YET = datetime.max


@dataclass(frozen=True)
class Plan:
    """A node that takes the pod once some others are gone; the most important of them first."""

    node: str
    victims: tuple[Pod, ...]
    violations: int

    def cost(self) -> tuple[Any, ...]:
        highest = max(priority(pod) for pod in self.victims)
        first = min(started(pod) for pod in self.victims if priority(pod) == highest)
        total = sum(priority(pod) + 2**31 for pod in self.victims)
        return self.violations, highest, total, len(self.victims), datetime.max - first


@dataclass
class Rescue:
    """What comes of it: plans of which none is better than the others, or what is said instead."""

    plans: list[Plan] = field(default_factory=list)
    said: str = ""
    nominated: str | None = None  # None leaves a nomination as it is


def priority(pod: Pod) -> int:
    return pod.spec.priority or 0


def started(pod: Pod) -> datetime:
    start = pod.status.start_time
    return datetime.fromisoformat(start).replace(tzinfo=None) if start else NOT_YET


def rescue(question: Question, outcome: Outcome, leaving: Collection[str]) -> Rescue:
    """For a pod that no node takes. `leaving` are pods that are on their way out for another pod."""
    pod = question.pod
    if pod.spec.preemption_policy == "Never":
        return Rescue(said=NEVER)
    own = question.nodes.get(pod.status.nominated_node_name)
    if own is not None and _helps(own, outcome):
        lower = [other for other in question.on(own) if priority(other) < priority(pod)]
        if any(other.uid in leaving for other in lower):
            return Rescue(said=TERMINATING)
    return _best([node for node in question.nodes.values() if _helps(node, outcome)], question)


def _best(candidates: list[Node], question: Question) -> Rescue:
    plans: list[Plan] = []
    reasons: Counter[str] = Counter({HELPLESS: len(question.nodes) - len(candidates)})
    errors = []
    for node in candidates:
        found = _dry_run(question, node)
        if isinstance(found, tuple):
            reasons.update(found)
        elif found.victims:
            plans.append(found)
        else:
            errors.append(f'expected at least one victim pod on node "{node.name}"')
    if plans:
        best = min(plan.cost() for plan in plans)
        return Rescue([plan for plan in plans if plan.cost() == best])
    if errors:
        return Rescue(said=f"preemption: {errors[0] if len(errors) == 1 else '[' + ', '.join(errors) + ']'}")
    counted = ", ".join(sorted(f"{n} {reason}" for reason, n in reasons.items() if n))
    said = f"preemption: 0/{len(question.nodes)} nodes are available: {counted}."
    return Rescue(said=said, nominated="")


def _helps(node: Node, outcome: Outcome) -> bool:
    """Whether evicting pods can make the node take the pod."""
    return node.name in outcome.rejected and not outcome.rejected[node.name].unresolvable


def _dry_run(question: Question, node: Node) -> Plan | tuple[str, ...]:
    """The plan for a node, or why there is none."""
    lower = [other for other in question.on(node) if priority(other) < priority(question.pod)]
    if not lower:
        return (NOBODY,)
    gone = {other.uid for other in lower}
    if (verdict := question.verdict(node, question.scene(gone), gone)) is not None:
        return verdict.reasons
    lower.sort(key=lambda other: (-priority(other), started(other)))
    wrong = _violating(lower, question.objects)
    for other in [*wrong, *(other for other in lower if other not in wrong)]:
        without = gone - {other.uid}
        if question.verdict(node, question.scene(without), without) is None:
            gone = without
    victims = tuple(other for other in lower if other.uid in gone)
    return Plan(node.name, victims, sum(other in wrong for other in victims))


def _violating(pods: list[Pod], objects: list[Object]) -> list[Pod]:
    """Those whose eviction, after that of the ones before, disrupts more than some budget allows."""
    budgets = [found for found in objects if found.kind == "PodDisruptionBudget"]
    left = {found.key: found.data["status"]["disruptionsAllowed"] for found in budgets}
    violating = []
    for pod in pods:
        beyond = False
        for found in budgets:
            wanted = requirements(msgspec.convert(found.data["spec"].get("selector"), LabelSelector | None))
            covered = bool(wanted) and bool(pod.labels) and selects(wanted, pod.labels)
            known = found.data["status"].get("disruptedPods") or {}
            if covered and found.metadata.namespace == pod.namespace and pod.name not in known:
                left[found.key] -= 1
                beyond = beyond or left[found.key] < 0
        if beyond:
            violating.append(pod)
    return violating
