"""Spreading and affinity between pods, counted from nothing for every node and every pod."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import floor, log
from typing import Any

import msgspec

from mooring.model.objects import LabelSelector, Node, Object, Pod, PodAffinityTerm
from mooring.model.objects import LabelSelectorRequirement as Requirement
from oracle_matching import holds, tolerated, wants

HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
SPREAD = "node(s) didn't match pod topology spread constraints"
FINE = ("", False)

Answer = tuple[str, bool]  # the reason, "" when there is none; and whether evicting others is no help
There = tuple[Pod, Node]
Wanted = list[Requirement] | None  # None wants nothing; no requirements want everything


@dataclass
class Scene:
    """What there is: nodes, pods on them, and all other objects."""

    nodes: list[Node]
    pods: list[There]
    objects: list[Object]
    hard_weight: int = 1
    before: list[There] | None = None  # the pods when the attempt began; None: those of now
    assumed: Mapping[tuple[str, str], Any] = field(default_factory=dict)  # of objects, by kind and key

    def kind(self, kind: str, namespace: str = "") -> Iterator[Object]:
        return (o for o in self.objects if o.kind == kind and o.metadata.namespace == namespace)


def requirements(selector: LabelSelector | None) -> Wanted:
    if selector is None:
        return None
    return [*equal(selector.match_labels), *selector.match_expressions]


def equal(labels: Mapping[str, str]) -> list[Requirement]:
    return [Requirement(key=key, operator="In", values=(value,)) for key, value in labels.items()]


def selects(wanted: Wanted, labels: Mapping[str, str]) -> bool:
    return wanted is not None and all(holds(requirement, labels) for requirement in wanted)


# spreading


@dataclass
class Rule:
    """One spread constraint of a pod."""

    key: str
    skew: int
    hard: bool
    wanted: Wanted
    domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False

    def count(self, pod: Pod, node: Node, pods: Iterable[There]) -> int:
        """Pods of the workload on a node. A selector that wants everything counts nobody."""
        if not self.wanted:
            return 0
        return sum(
            other.namespace == pod.namespace
            and other.metadata.deletion_timestamp is None
            and selects(self.wanted, other.labels)
            for other, home in pods
            if home.name == node.name
        )

    def includes(self, pod: Pod, node: Node) -> bool:
        if self.honors_affinity and not wants(pod.spec, node):
            return False
        bad = [t for t in node.spec.taints if t.effect in ("NoSchedule", "NoExecute")]
        return not self.honors_taints or all(tolerated(t, pod.spec.tolerations) for t in bad)


def rules(pod: Pod, scene: Scene) -> list[Rule]:
    """A pod's own constraints, or the defaults for what its Services and its owner select."""
    own = pod.spec.topology_spread_constraints
    if not own:
        wanted = _default_selector(pod, scene)
        return [Rule(HOSTNAME, 3, False, wanted), Rule(ZONE, 5, False, wanted)] if wanted else []
    found = []
    for given in own:
        wanted = requirements(given.label_selector)
        if wanted is not None:
            wanted += equal({key: pod.labels[key] for key in given.match_label_keys if key in pod.labels})
        found.append(
            Rule(
                given.topology_key,
                given.max_skew,
                given.when_unsatisfiable == "DoNotSchedule",
                wanted,
                given.min_domains or 1,
                given.node_affinity_policy in (None, "Honor"),
                given.node_taints_policy == "Honor",
            )
        )
    return found


def _default_selector(pod: Pod, scene: Scene) -> list[Requirement]:
    wanted: list[Requirement] = []
    for service in scene.kind("Service", pod.namespace):
        labels = service.data["spec"]["selector"]
        if labels and selects(equal(labels), pod.labels):
            wanted += equal(labels)
    for owner in pod.metadata.owner_references:
        for found in scene.kind(owner.kind, pod.namespace):
            if owner.controller and found.metadata.name == owner.name:
                wanted += requirements(msgspec.convert(found.data["spec"]["selector"], LabelSelector)) or []
    return wanted


def spread_verdict(pod: Pod, node: Node, scene: Scene, coming: list[There]) -> Answer:
    hard = [rule for rule in rules(pod, scene) if rule.hard]
    pods = [*scene.pods, *coming]
    for rule in hard:
        if rule.key not in node.labels:
            return f"{SPREAD} (missing required label)", True
        domains: Counter[str] = Counter()
        for other in scene.nodes:
            if all(each.key in other.labels for each in hard) and rule.includes(pod, other):
                domains[other.labels[rule.key]] += rule.count(pod, other, pods)
        if not domains:
            continue
        least = 0 if len(domains) < rule.domains else min(domains.values())
        here = domains.get(node.labels[rule.key], 0) + selects(rule.wanted, pod.labels)
        if here - least > rule.skew:
            return SPREAD, False
    return FINE


def spread_scores(pod: Pod, feasible: list[Node], scene: Scene) -> list[int]:
    soft = [rule for rule in rules(pod, scene) if not rule.hard]
    if not soft:
        return [0] * len(feasible)
    picky = bool(pod.spec.topology_spread_constraints)
    raw = [_spread_raw(pod, node, feasible, soft, picky, scene) for node in feasible]
    counted = [value for value in raw if value is not None]
    if not counted:
        return [0] * len(feasible)
    low, high = min(counted), max(counted)
    scores = []
    for value in raw:
        if value is None:
            scores.append(0)
        else:
            scores.append(100 * (high + low - value) // high if high else 100)
    return scores


def _spread_raw(
    pod: Pod, node: Node, feasible: list[Node], soft: list[Rule], picky: bool, scene: Scene
) -> int | None:
    """None for a node that lacks a key the pod itself names."""

    def has_all(each: Node) -> bool:
        return not picky or all(rule.key in each.labels for rule in soft)

    if not has_all(node):
        return None
    looked_at = [each for each in feasible if has_all(each)]
    score = 0.0
    for rule in soft:
        if rule.key not in node.labels:
            continue
        if rule.key == HOSTNAME:
            size, count = len(looked_at), rule.count(pod, node, scene.pods)
        else:
            size = len({each.labels.get(rule.key) for each in looked_at})
            count = sum(
                rule.count(pod, each, scene.pods)
                for each in scene.nodes
                if each.labels.get(rule.key) == node.labels[rule.key]
                and has_all(each)
                and rule.includes(pod, each)
            )
        score += count * log(size + 2) + (rule.skew - 1)
    return floor(score + 0.5)


# affinity


def means(term: PodAffinityTerm, owner: Pod, other: Pod, scene: Scene) -> bool:
    """Whether a term of the owner is about the other pod."""
    wanted = requirements(term.label_selector)
    if wanted is not None:
        for operator, keys in (("In", term.match_label_keys), ("NotIn", term.mismatch_label_keys)):
            mine = [key for key in keys if key in owner.labels]
            wanted += [Requirement(key=k, operator=operator, values=(owner.labels[k],)) for k in mine]
    names = set(term.namespaces)
    if not names and term.namespace_selector is None:
        names = {owner.namespace}
    space = {"kubernetes.io/metadata.name": other.namespace}
    for found in scene.kind("Namespace"):
        if found.metadata.name == other.namespace:
            space |= found.metadata.labels
    inside = other.namespace in names or selects(requirements(term.namespace_selector), space)
    return inside and selects(wanted, other.labels)


def required(pod: Pod, kind: str) -> tuple[PodAffinityTerm, ...]:
    affinity = pod.spec.affinity and getattr(pod.spec.affinity, kind)
    return affinity.required_during_scheduling_ignored_during_execution if affinity else ()


def preferred(pod: Pod) -> list[tuple[int, PodAffinityTerm]]:
    """Weights, negative for anti-affinity, and terms."""
    found = []
    for kind, sign in (("pod_affinity", 1), ("pod_anti_affinity", -1)):
        affinity = pod.spec.affinity and getattr(pod.spec.affinity, kind)
        terms = affinity.preferred_during_scheduling_ignored_during_execution if affinity else ()
        found += [(sign * given.weight, given.pod_affinity_term) for given in terms]
    return found


def held_against(pod: Pod, pods: list[There], scene: Scene) -> set[tuple[str, str]]:
    """Domains in which some pod demands not to be with this one."""
    return {
        (term.topology_key, home.labels[term.topology_key])
        for other, home in pods
        for term in required(other, "pod_anti_affinity")
        if term.topology_key in home.labels and means(term, other, pod, scene)
    }


def affinity_verdict(pod: Pod, node: Node, scene: Scene, coming: list[There]) -> Answer:
    near, apart = required(pod, "pod_affinity"), required(pod, "pod_anti_affinity")
    if not near and not apart and not held_against(pod, scene.before or scene.pods, scene):
        return FINE  # nobody looks at such a pod, whoever is to come
    pods = [*scene.pods, *coming]
    friends = [(o, home) for o, home in pods if all(means(term, pod, o, scene) for term in near)]
    domains = {
        (term.topology_key, home.labels.get(term.topology_key)) for term in near for _, home in friends
    }
    domains = {domain for domain in domains if domain[1] is not None}
    at_home = all((term.topology_key, node.labels.get(term.topology_key)) in domains for term in near)
    first = not domains and all(means(term, pod, pod, scene) for term in near)
    has_keys = all(term.topology_key in node.labels for term in near)
    if near and not (has_keys and (at_home or first)):
        return "node(s) didn't match pod affinity rules", True
    for term in apart:
        key = term.topology_key
        for other, home in pods:
            same = key in node.labels and home.labels.get(key) == node.labels[key]
            if same and means(term, pod, other, scene):
                return "node(s) didn't match pod anti-affinity rules", False
    if any(node.labels.get(key) == value for key, value in held_against(pod, pods, scene)):
        return "node(s) didn't satisfy existing pods anti-affinity rules", False
    return FINE


def affinity_scores(pod: Pod, feasible: list[Node], scene: Scene) -> list[int]:
    domains: Counter[tuple[str, str]] = Counter()
    for other, home in scene.pods:
        mine = [(w, term) for w, term in preferred(pod) if means(term, pod, other, scene)]
        theirs = [(w, term) for w, term in preferred(other) if means(term, other, pod, scene)]
        demands = [term for term in required(other, "pod_affinity") if means(term, other, pod, scene)]
        theirs += [(scene.hard_weight, term) for term in demands]
        for weight, term in (*mine, *theirs):
            if term.topology_key in home.labels:
                domains[term.topology_key, home.labels[term.topology_key]] += weight
    raw = [sum(domains[pair] for pair in node.labels.items()) for node in feasible]
    if not raw or min(raw) == max(raw):
        return [0] * len(raw)
    low, high = min(raw), max(raw)
    return [int(100 * ((value - low) / (high - low))) for value in raw]
