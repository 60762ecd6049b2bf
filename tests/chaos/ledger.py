"""What every change did, and what was wrong with it: judged from the objects alone, one after the other.

Room, ports and pods that must be apart are judged strictly, against what the API server held in the very
moment of the bind: whoever decided earlier knew of at least as much. What others may change between the
decision and the bind (a taint, a pod that goes and leaves a zone emptier) is wrong only if no moment of the
last `LATE_SECONDS` makes it right.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from chaos.changes import NODES, PODS, Change
from e2e.amounts import amounts, asked_by, total
from e2e.api import Object
from e2e.state import DONE, ports_of
from e2e.state import Pod as Raw
from mooring.model.objects import Node, Pod
from oracle import _of_node as refused_by_node
from oracle_domains import Rule, Scene, affinity_verdict, rules, selects

LATE_SECONDS = 30.0
GANG = "gang.scheduling.koordinator.sh/"


class Entry(Raw):
    """A pod as it is, in both forms: for the arithmetic of the tests, and for the oracle."""

    def __init__(self, raw: Object) -> None:
        super().__init__(raw)
        object.__setattr__(self, "model", msgspec.convert(raw, Pod))

    model: Pod

    @property
    def takes_room(self) -> bool:
        return bool(self.node) and self.phase not in DONE

    @property
    def gang(self) -> str:
        return self.annotations.get(f"{GANG}name", "")

    @property
    def least(self) -> int:
        return int(self.annotations.get(f"{GANG}min-available", "0"))


@dataclass
class Gang:
    least: int
    members: set[str] = field(default_factory=set)  # keys of all there ever were
    bound: set[str] = field(default_factory=set)  # keys of pods that have a node now
    started: bool = False  # as many had one at the same time as it takes


@dataclass
class Ledger:
    """Give it changes in order; `wrong` is what must not have happened."""

    nodes: dict[str, Node] = field(default_factory=dict)
    raw_nodes: dict[str, Object] = field(default_factory=dict)
    pods: dict[str, Entry] = field(default_factory=dict)
    gangs: dict[str, Gang] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    made: set[str] = field(default_factory=set)  # uids
    bound: dict[str, float] = field(default_factory=dict)  # uids, and when
    _node_was: deque[tuple[float, Node]] = field(default_factory=deque)
    _left: deque[tuple[float, Pod, str]] = field(default_factory=deque)  # when, who, from which node

    def take(self, change: Change) -> None:
        if change.kind == NODES:
            self._node(change)
        elif change.kind == PODS:
            self._pod(change)

    def copy_of_pods(self) -> dict[str, Entry]:
        return dict(self.pods)  # at once, for other threads

    def gangs_below(self, removed: set[str]) -> list[str]:
        """Gangs of which some are bound and fewer than it takes, but for those `removed` on purpose."""
        return [
            f"gang {name}: {len(gang.bound)} of at least {gang.least} are bound"
            for name, gang in dict(self.gangs).items()
            if gang.bound and len(gang.bound | (gang.members & removed)) < gang.least
        ]

    def _node(self, change: Change) -> None:
        if (before := self.nodes.get(change.key)) is not None:
            self._node_was.append((change.at, before))
        if change.object is None:
            self.nodes.pop(change.key, None)
            self.raw_nodes.pop(change.key, None)
        else:
            self.nodes[change.key] = msgspec.convert(change.object, Node)
            self.raw_nodes[change.key] = change.object

    def _pod(self, change: Change) -> None:
        before = self.pods.get(change.key)
        now = Entry(change.object) if change.object is not None else None
        if before is not None and not before.deleting and (now is None or now.deleting):
            self._left.append((change.at, before.model, before.node))
        if before is not None and before.gang and now is None:
            self.gangs[before.gang].bound.discard(change.key)
        if now is None:
            self.pods.pop(change.key, None)
            return
        self.pods[change.key] = now
        self.made.add(now.uid)
        if now.gang:
            self.gangs.setdefault(now.gang, Gang(now.least)).members.add(change.key)
        had = before.node if before is not None and before.uid == now.uid else ""
        if had and had != now.node:
            self.wrong.append(f"revision {change.revision}: {now.key} went from {had} to {now.node!r}")
        elif now.node and not had:
            self._bind(change, now)

    def _bind(self, change: Change, pod: Entry) -> None:
        if pod.uid in self.bound:
            self.wrong.append(f"revision {change.revision}: {pod.key} was bound a second time")
        self.bound[pod.uid] = change.at
        forget(self._left, change.at - LATE_SECONDS)
        forget(self._node_was, change.at - LATE_SECONDS)
        self.wrong += [f"revision {change.revision}: {pod.key} on {pod.node}: {said}"
                       for said in self._problems(pod, change.at)]  # fmt: skip
        if pod.gang:
            gang = self.gangs[pod.gang]
            gang.bound.add(change.key)
            gang.started = gang.started or len(gang.bound) >= gang.least

    def _problems(self, pod: Entry, at: float) -> Iterator[str]:
        node = self.nodes.get(pod.node)
        if node is None:
            if not any(was.name == pod.node for _, was in self._node_was):
                yield "there is no such node"
            return
        there = [each for each in self.pods.values() if each.takes_room]
        here = [each for each in there if each.node == pod.node]
        yield from over_committed(here, self.raw_nodes[pod.node])
        yield from self._refused(pod, node)
        nodes = list(self.nodes.values())
        others = [(each.model, self.nodes[each.node]) for each in there
                  if each.uid != pod.uid and each.node in self.nodes]  # fmt: skip
        scene = Scene(nodes, others, [])
        if reason := affinity_verdict(unplaced(pod.model), node, scene, [])[0]:
            yield reason
        for rule in rules(pod.model, scene):
            if rule.hard:
                yield from self._skewed(pod, node, rule, scene)

    def _refused(self, pod: Entry, node: Node) -> Iterator[str]:
        spec = unplaced(pod.model).spec
        versions = [node, *(was for _, was in self._node_was if was.name == node.name)]
        verdicts = [refused_by_node(spec, each) for each in versions]
        if all(verdicts) and verdicts[0] is not None:
            yield verdicts[0].reasons[0]

    def _skewed(self, pod: Entry, node: Node, rule: Rule, scene: Scene) -> Iterator[str]:
        """Pods of the workload without a node may have been on their way to any zone, and those that have
        left may still have been there."""
        zones: Counter[str] = Counter()
        for each in scene.nodes:
            if rule.key in each.labels and rule.includes(pod.model, each):
                zones[each.labels[rule.key]] += rule.count(pod.model, each, scene.pods)
        here = zones[node.labels[rule.key]] + 1
        on_the_way = 0
        mine = [(each.model, each.node) for each in self.pods.values() if not each.node]
        for other, was_on in [*mine, *((other, was_on) for _, other, was_on in self._left)]:
            if other.namespace != pod.namespace or not selects(rule.wanted, other.labels):
                continue
            if was_on in self.nodes:
                zones[self.nodes[was_on].labels[rule.key]] += 1
            else:
                on_the_way += 1
        least = min(zones.values()) + on_the_way
        if here - least > rule.skew:
            yield f"{here} in {node.labels[rule.key]}, and {least} elsewhere: more than {rule.skew} apart"


def forget(kept: deque[Any], before: float) -> None:
    """What is kept begins with when it was."""
    while kept and kept[0][0] < before:
        kept.popleft()


def over_committed(pods: list[Entry], node: Object) -> Iterator[str]:
    has = amounts(node["status"].get("allocatable"))
    for resource, asked in total(asked_by(pod.raw) for pod in pods).items():
        if asked > has[resource]:
            yield f"{float(asked):g} {resource} taken of {float(has[resource]):g}"
    for port, takers in Counter(port for pod in pods for port in ports_of(pod)).items():
        if takers > 1:
            yield f"{takers} pods have host port {port}"


def unplaced(pod: Pod) -> Pod:
    """As it was when its place was decided."""
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=""))
