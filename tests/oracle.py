"""The slow, obvious scheduler: what the right answer is, worked out with lists and dicts.

It knows the default profile but for volumes and claims, and nothing of how Mooring goes about it. Given
the nodes, the pods on them, the nominated pods, other objects and one pod to place, it says for each node
why the pod cannot go there, or what the node is worth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

from mooring.model.objects import (
    Container,
    Node,
    Object,
    Pod,
    PodSpec,
    Taint,
)
from mooring.model.quantity import parse_quantity
from oracle_domains import Scene, affinity_scores, affinity_verdict, spread_scores, spread_verdict
from oracle_matching import required_terms, term_holds, tolerated, wants

MIB = 2**20
WEIGHTS = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "NodeResourcesBalancedAllocation": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "ImageLocality": 1,
}

Amounts = dict[str, int]  # cpu in thousandths, everything else in units


@dataclass(frozen=True)
class Verdict:
    """Why a node does not take the pod."""

    plugin: str
    reasons: tuple[str, ...]
    unresolvable: bool


@dataclass
class Outcome:
    """`rejected` and `totals` share the nodes out, except for those left out before any was asked."""

    nodes: int
    rejected: dict[str, Verdict] = field(default_factory=dict)
    totals: dict[str, int] = field(default_factory=dict)
    refusal: str = ""  # of the pod as a whole
    narrowed: bool = False

    @property
    def best(self) -> set[str]:
        top = max(self.totals.values(), default=0)
        return {name for name, total in self.totals.items() if total == top}

    @property
    def plugins(self) -> set[str]:
        """Who is to blame when no node is left."""
        blamed = {verdict.plugin for verdict in self.rejected.values()}
        return blamed | {"NodeAffinity"} if self.narrowed or self.refusal else blamed

    @property
    def message(self) -> str:
        if not self.nodes:
            return "no nodes available to schedule pods"
        start = f"0/{self.nodes} nodes are available:"
        if self.refusal:
            return f"{start} {self.refusal}."
        counts = Counter(reason for verdict in self.rejected.values() for reason in verdict.reasons)
        if left_out := self.nodes - len(self.rejected):
            counts["node(s) didn't satisfy plugin(s) [NodeAffinity]"] = left_out
        return f"{start} {', '.join(sorted(f'{n} {reason}' for reason, n in counts.items()))}."


def decide(
    nodes: Iterable[Node],
    placed: Iterable[tuple[Pod, str]],
    nominated: Iterable[tuple[Pod, str]],
    pod: Pod,
    objects: Iterable[Object] = (),
) -> Outcome:
    """What the pod's place may be, and why it is nowhere else."""
    nodes = list(nodes)
    outcome = Outcome(len(nodes))
    pinned = pinned_nodes(pod.spec)
    if pinned is not None and not pinned:
        outcome.refusal = "pod affinity terms conflict"
        return outcome
    outcome.narrowed = pinned is not None
    asked = [node for node in nodes if pinned is None or node.name in pinned]
    homes = {node.name: _Home(node) for node in nodes}
    for other, name in placed:
        if name in homes:
            homes[name].pods.append(other)
    ahead = [
        (other, name)
        for other, name in nominated
        if other.uid != pod.uid and (other.spec.priority or 0) >= (pod.spec.priority or 0)
    ]
    scene = Scene(
        nodes, [(other, home.node) for home in homes.values() for other in home.pods], list(objects)
    )
    for node in asked:
        verdict = _verdict_with_nominated(pod, homes[node.name], ahead, scene)
        if verdict is not None:
            outcome.rejected[node.name] = verdict
    feasible = [node for node in asked if node.name not in outcome.rejected]
    wanted = [node for node in feasible if node.name == pod.status.nominated_node_name]
    outcome.totals = _totals(pod, [homes[node.name] for node in wanted or feasible], scene)
    return outcome


class _Home:
    """A node with the pods on it."""

    def __init__(self, node: Node, pods: Iterable[Pod] = ()) -> None:
        self.node = node
        self.pods = list(pods)
        self.has = {name: _amount(name, q) for name, q in node.status.allocatable.items()}

    def used(self, name: str) -> int:
        return sum(_known_request(pod.spec, False).get(name, 0) for pod in self.pods)

    def used_supposedly(self, name: str) -> int:
        return sum(_known_request(pod.spec, True).get(name, 0) for pod in self.pods)


# who may go where


def _verdict_with_nominated(
    pod: Pod, home: _Home, ahead: list[tuple[Pod, str]], scene: Scene
) -> Verdict | None:
    """First as if those who are promised room were there, then as it is."""
    coming = [other for other, name in ahead if name == home.node.name]
    if coming:
        crowded = _Home(home.node, [*home.pods, *coming])
        crowd = [(other, home.node) for other in coming]
        if (verdict := _verdict(pod, crowded, scene, crowd)) is not None:
            return verdict
    return _verdict(pod, home, scene, [])


def _verdict(pod: Pod, home: _Home, scene: Scene, coming: list[tuple[Pod, Node]]) -> Verdict | None:
    """The first filter the pod does not pass."""
    spec, node = pod.spec, home.node
    cordon = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
    if node.spec.unschedulable and not tolerated(cordon, spec.tolerations):
        return Verdict("NodeUnschedulable", ("node(s) were unschedulable",), True)
    if spec.node_name and spec.node_name != node.name:
        return Verdict("NodeName", ("node(s) didn't match the requested node name",), True)
    for taint in node.spec.taints:
        if taint.effect in ("NoSchedule", "NoExecute") and not tolerated(taint, spec.tolerations):
            return Verdict("TaintToleration", ("node(s) had untolerated taint(s)",), True)
    if not wants(spec, node):
        return Verdict("NodeAffinity", ("node(s) didn't match Pod's node affinity/selector",), True)
    if any(_ports_clash(spec, other.spec) for other in home.pods):
        reason = "node(s) didn't have free ports for the requested pod ports"
        return Verdict("NodePorts", (reason,), False)
    if (verdict := _room(pod, home)) is not None:
        return verdict
    for plugin, judge in (("PodTopologySpread", spread_verdict), ("InterPodAffinity", affinity_verdict)):
        reason, unresolvable = judge(pod, node, scene, coming)
        if reason:
            return Verdict(plugin, (reason,), unresolvable)
    return None


def _room(pod: Pod, home: _Home) -> Verdict | None:
    reasons = []
    hopeless = False
    if len(home.pods) + 1 > home.has.get("pods", 0):
        reasons.append("Too many pods")
    request = request_of(pod.spec)
    first = ["cpu", "memory", "ephemeral-storage"]
    for name in [*first, *sorted(set(request) - set(first))]:
        amount = request.get(name, 0)
        if amount and amount > home.has.get(name, 0) - home.used(name):
            reasons.append(f"Insufficient {name}")
            hopeless = hopeless or amount > home.has.get(name, 0)
    return Verdict("NodeResourcesFit", tuple(reasons), hopeless) if reasons else None


def pinned_nodes(spec: PodSpec) -> set[str] | None:
    """The names all required terms name by field; None when one of them leaves the name open."""
    terms = required_terms(spec)
    if not terms:
        return None
    union: set[str] = set()
    for term in terms:
        pins = [set(r.values) for r in (term.match_fields if term else ()) if r.operator == "In"]
        if not pins:
            return None
        union |= set.intersection(*pins)
    return union


def _ports_clash(one: PodSpec, other: PodSpec) -> bool:
    for address, protocol, port in _host_ports(one):
        for other_address, other_protocol, other_port in _host_ports(other):
            same_address = address == other_address or "0.0.0.0" in (address, other_address)
            if same_address and (protocol, port) == (other_protocol, other_port):
                return True
    return False


def _host_ports(spec: PodSpec) -> list[tuple[str, str, int]]:
    containers = [*spec.containers, *(c for c in spec.init_containers if c.restart_policy == "Always")]
    ports = [port for container in containers for port in container.ports if port.host_port]
    return [(p.host_ip or "0.0.0.0", p.protocol or "TCP", p.host_port) for p in ports]


# what a pod asks for


def request_of(spec: PodSpec, *, suppose: bool = False) -> Amounts:
    """Per resource: what runs all the time, or the peak while init containers run. Then overhead.

    With `suppose`, a container that does not name cpu or memory counts as asking for 100m and 200Mi.
    """
    running: dict[str, Fraction] = {}
    beside: dict[str, Fraction] = {}  # sidecars started so far
    peak: dict[str, Fraction] = {}
    for container in spec.containers:
        _add(running, _asks(container, suppose))
    for container in spec.init_containers:
        asks = _asks(container, suppose)
        if container.restart_policy == "Always":
            _add(running, asks)
            _add(beside, asks)
            continue
        _add(asks, beside)
        peak = {name: max(peak.get(name, Fraction(0)), asks.get(name, Fraction(0))) for name in peak | asks}
    total = {
        name: max(running.get(name, Fraction(0)), peak.get(name, Fraction(0))) for name in running | peak
    }
    _add(total, {name: parse_quantity(q) for name, q in spec.overhead.items()})
    return {name: ceil(amount * (1000 if name == "cpu" else 1)) for name, amount in total.items()}


_known: dict[tuple[int, bool], tuple[PodSpec, Amounts]] = {}


def _known_request(spec: PodSpec, suppose: bool) -> Amounts:
    """`request_of`, worked out once per spec object: the one thing here that is not done afresh."""
    key = (id(spec), suppose)
    if key not in _known:
        if len(_known) > 10_000:
            _known.clear()
        _known[key] = (spec, request_of(spec, suppose=suppose))  # the spec is held so that its id stays
    return _known[key][1]


def _asks(container: Container, suppose: bool) -> dict[str, Fraction]:
    defaults = {"cpu": Fraction(1, 10), "memory": Fraction(200 * MIB)} if suppose else {}
    return defaults | {name: parse_quantity(q) for name, q in container.resources.requests.items()}


def _add(into: dict[str, Fraction], amounts: Mapping[str, Fraction]) -> None:
    for name, amount in amounts.items():
        into[name] = into.get(name, Fraction(0)) + amount


def _amount(name: str, quantity: object) -> int:
    exact = parse_quantity(quantity)  # type: ignore[arg-type]
    return ceil(exact * 1000) if name == "cpu" else ceil(exact)


# what a node is worth


def _totals(pod: Pod, feasible: list[_Home], scene: Scene) -> dict[str, int]:
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


def _least_allocated(pod: Pod, home: _Home) -> int:
    supposed = request_of(pod.spec, suppose=True)
    scores = []
    for name in ("cpu", "memory"):
        has = home.has.get(name, 0)
        if has:
            free = has - home.used_supposedly(name) - supposed.get(name, 0)
            scores.append(free * 100 // has if free > 0 else 0)
    return sum(scores) // len(scores) if scores else 0


def _balanced(pod: Pod, home: _Home) -> int:
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
