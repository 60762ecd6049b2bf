"""The slow, obvious scheduler: what the right answer is, worked out with lists and dicts.

It knows the default profile but for resource claims, and nothing of how Mooring goes about it. Given
the nodes, the pods on them, the nominated pods, other objects and one pod to place, it says for each node
why the pod cannot go there, or what the node is worth. `oracle_preemption` goes on from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from mooring.model.objects import Node, Object, Pod, PodSpec, Taint
from oracle_domains import Scene, There, affinity_verdict, spread_verdict
from oracle_matching import required_terms, tolerated, wants
from oracle_requests import Home, request_of
from oracle_scores import totals
from oracle_volumes import Assumptions, volumes_refusal, volumes_verdict

NOBODY: frozenset[str] = frozenset()


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
    refused_by: str = ""
    narrowed: bool = False

    @property
    def best(self) -> set[str]:
        top = max(self.totals.values(), default=0)
        return {name for name, total in self.totals.items() if total == top}

    @property
    def plugins(self) -> set[str]:
        """Who is to blame when no node is left."""
        if self.refusal:
            return {self.refused_by}
        blamed = {verdict.plugin for verdict in self.rejected.values()}
        return blamed | {"NodeAffinity"} if self.narrowed else blamed

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


class Question:
    """One pod that wants a place, and everything there is."""

    def __init__(
        self,
        nodes: Iterable[Node],
        placed: Iterable[tuple[Pod, str]],
        nominated: Iterable[tuple[Pod, str]],
        pod: Pod,
        objects: Iterable[Object] = (),
        assumed: Assumptions | None = None,
    ) -> None:
        self.pod = pod
        self.nodes = {node.name: node for node in nodes}
        self.there: list[There] = [(p, self.nodes[name]) for p, name in placed if name in self.nodes]
        self.ahead = [
            (other, name)
            for other, name in nominated
            if other.uid != pod.uid and (other.spec.priority or 0) >= (pod.spec.priority or 0)
        ]
        self.objects = list(objects)
        self.assumed = assumed or {}

    def scene(self, gone: Collection[str] = NOBODY) -> Scene:
        staying = [(other, home) for other, home in self.there if other.uid not in gone]
        return Scene(
            list(self.nodes.values()), staying, self.objects, before=self.there, assumed=self.assumed
        )

    def on(self, node: Node, gone: Collection[str] = NOBODY) -> list[Pod]:
        return [other for other, home in self.there if home.name == node.name and other.uid not in gone]

    def verdict(self, node: Node, scene: Scene, gone: Collection[str] = NOBODY) -> Verdict | None:
        """First as if those who are promised room were there, then as it is; without those who are gone."""
        coming = [other for other, name in self.ahead if name == node.name]
        if coming:
            crowded = Home(node, [*self.on(node, gone), *coming])
            crowd = [(other, node) for other in coming]
            if (verdict := _verdict(self.pod, crowded, scene, crowd)) is not None:
                return verdict
        return _verdict(self.pod, Home(node, self.on(node, gone)), scene, [])

    def outcome(self) -> Outcome:
        pod, scene = self.pod, self.scene()
        outcome = Outcome(len(self.nodes))
        pinned = pinned_nodes(pod.spec)
        if pinned is not None and not pinned:
            outcome.refused_by, outcome.refusal = "NodeAffinity", "pod affinity terms conflict"
            return outcome
        outcome.refused_by, outcome.refusal = volumes_refusal(pod, scene)
        if outcome.refusal:
            return outcome
        outcome.narrowed = pinned is not None
        asked = [node for node in self.nodes.values() if pinned is None or node.name in pinned]
        for node in asked:
            verdict = self.verdict(node, scene)
            if verdict is not None:
                outcome.rejected[node.name] = verdict
        feasible = [node for node in asked if node.name not in outcome.rejected]
        wanted = [node for node in feasible if node.name == pod.status.nominated_node_name]
        homes = [Home(node, self.on(node)) for node in wanted or feasible]
        outcome.totals = totals(pod, homes, scene)
        return outcome


def decide(
    nodes: Iterable[Node],
    placed: Iterable[tuple[Pod, str]],
    nominated: Iterable[tuple[Pod, str]],
    pod: Pod,
    objects: Iterable[Object] = (),
) -> Outcome:
    """What the pod's place may be, and why it is nowhere else."""
    return Question(nodes, placed, nominated, pod, objects).outcome()


# who may go where


def _verdict(pod: Pod, home: Home, scene: Scene, coming: list[There]) -> Verdict | None:
    """The first filter the pod does not pass."""
    node = home.node
    verdict = _of_node(pod.spec, node) or _of_guests(pod, home)
    if verdict is not None:
        return verdict
    plugin, reasons, hopeless = volumes_verdict(pod, node, home.pods, scene, coming)
    if reasons:
        return Verdict(plugin, reasons, hopeless)
    for plugin, judge in (("PodTopologySpread", spread_verdict), ("InterPodAffinity", affinity_verdict)):
        reason, unresolvable = judge(pod, node, scene, coming)
        if reason:
            return Verdict(plugin, (reason,), unresolvable)
    return None


def _of_node(spec: PodSpec, node: Node) -> Verdict | None:
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
    return None


def _of_guests(pod: Pod, home: Home) -> Verdict | None:
    if any(_ports_clash(pod.spec, other.spec) for other in home.pods):
        reason = "node(s) didn't have free ports for the requested pod ports"
        return Verdict("NodePorts", (reason,), False)
    return _room(pod, home)


def _room(pod: Pod, home: Home) -> Verdict | None:
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
