"""What a node is worth to a pod, for the slow and obvious scheduler."""

from __future__ import annotations

from mooring.model.objects import Node, Pod
from oracle_domains import Scene, affinity_scores, spread_scores
from oracle_matching import term_holds, tolerated
from oracle_requests import MIB, Home, request_of

WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "NodeResourcesBalancedAllocation": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "ImageLocality": 1,
}


def totals(pod: Pod, feasible: list[Home], scene: Scene) -> dict[str, int]:
    places = [home.node for home in feasible]
    parts: dict[str, list[int]] = {
        "TaintToleration": _fewest_is_best([_unwelcome(pod, home.node) for home in feasible]),
        "NodeAffinity": _most_is_best([_preference(pod, home.node) for home in feasible]),
        "NodeResourcesFit": [_least_allocated(pod, home) for home in feasible],
        "NodeResourcesBalancedAllocation": [_balanced(pod, home) for home in feasible],
        "PodTopologySpread": spread_scores(pod, places, scene),
        "InterPodAffinity": affinity_scores(pod, places, scene),
        "ImageLocality": [_images(pod, home.node, scene.nodes) for home in feasible],
    }
    return {
        home.node.name: sum(WEIGHTS[plugin] * scores[i] for plugin, scores in parts.items())
        for i, home in enumerate(feasible)
    }


def _most_is_best(raw: list[int]) -> list[int]:
    top = max(raw, default=0)
    return [100 * value // top if top else 0 for value in raw]


def _fewest_is_best(raw: list[int]) -> list[int]:
    return [100 - score for score in _most_is_best(raw)]


def _unwelcome(pod: Pod, node: Node) -> int:
    advice = [taint for taint in node.spec.taints if taint.effect == "PreferNoSchedule"]
    heard = [t for t in pod.spec.tolerations if t.effect in ("", "PreferNoSchedule")]
    return sum(not tolerated(taint, heard) for taint in advice)


def _preference(pod: Pod, node: Node) -> int:
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    preferred = affinity.preferred_during_scheduling_ignored_during_execution if affinity else ()
    return sum(term.weight for term in preferred if term_holds(term.preference, node))


def _least_allocated(pod: Pod, home: Home) -> int:
    supposed = request_of(pod.spec, suppose=True)
    scores = []
    for name in ("cpu", "memory"):
        has = home.has.get(name, 0)
        if has:
            free = has - home.used_supposedly(name) - supposed.get(name, 0)
            scores.append(free * 100 // has if free > 0 else 0)
    return sum(scores) // len(scores) if scores else 0


def _balanced(pod: Pod, home: Home) -> int:
    request = request_of(pod.spec)
    asks = [request.get(name, 0) for name in ("cpu", "memory")]
    if not any(asks):
        return 0  # it has no say
    used = [home.used(name) for name in ("cpu", "memory")]
    has = [home.has.get(name, 0) for name in ("cpu", "memory")]
    without = _balance(used, has)
    with_pod = _balance([u + ask for u, ask in zip(used, asks, strict=True)], has)
    return 50 + (50 + with_pod - without) // 2


def _balance(used: list[int], has: list[int]) -> int:
    fractions = [min(1.0, u / h) for u, h in zip(used, has, strict=True) if h]
    apart = abs(fractions[0] - fractions[1]) / 2 if len(fractions) == 2 else 0.0
    return int((1 - apart) * 100)


def _images(pod: Pod, node: Node, nodes: list[Node]) -> int:
    containers = [*pod.spec.init_containers, *pod.spec.containers]
    if not containers:
        return 0
    total = 0
    for container in containers:
        name = container.image
        if ":" not in name.rpartition("/")[2]:
            name += ":latest"
        sizes = [image.size_bytes for n in nodes for image in n.status.images if name in image.names]
        if any(name in image.names for image in node.status.images):
            total += int(sizes[0] * (len(sizes) / len(nodes)))
    least, most = 23 * MIB, 1000 * MIB * len(containers)
    return 100 * (min(max(total, least), most) - least) // (most - least)
