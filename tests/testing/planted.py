"""Policies that each break one promise, for the conformance check to find."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Hashable, Sequence
from datetime import datetime

import numpy as np

from mooring import (
    Action,
    Book,
    Cycle,
    DomainPlugin,
    DomainState,
    Group,
    Handle,
    Hint,
    Interest,
    Node,
    NodeColumns,
    NodeObject,
    Plugin,
    PluginArgs,
    Pod,
    Scope,
    Session,
    StaticNode,
    Status,
    Task,
    error,
    reads_spec_only,
    unresolvable,
    unschedulable,
    wait,
)
from mooring.model.objects import Object

TEAM = "example.com/team"
BROKEN: dict[type[Plugin], str] = {}  # and the point that the check names


def breaks(point: str):
    def note(policy: type[Plugin]) -> type[Plugin]:
        BROKEN[policy] = point
        return policy

    return note


class Stateful(Plugin):
    def __init__(self, args: PluginArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self.count: Counter[str] = Counter()
        self.kept: dict[str, object] = {}


@breaks("filter")
class CountsOutsideRow(Stateful):
    """A counter that no row shows."""

    scope = Scope.ROW

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        full = self.count[pod.labels.get(TEAM, "")] >= 4
        return unschedulable("node(s) were for a team with enough pods") if full else None

    def reserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        self.count[pod.labels.get(TEAM, "")] += 1

    def unreserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        self.count[pod.labels.get(TEAM, "")] -= 1


@breaks("filter")
class HidesLabel(Plugin):
    """A signature without the label that the filter reads."""

    scope = Scope.STATIC

    def sign(self, pod: Pod) -> Hashable:
        return pod.preemptible

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        if pod.labels.get("licence") == "gold" and "gold" not in node.labels.values():
            return unresolvable("node(s) had no licence")
        return None


@breaks("reserve")
class ReserveRaises(Plugin):
    def reserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        raise RuntimeError("nothing can be set aside")


@breaks("permit")
class PermitReturnsTrue(Plugin):
    def permit(self, cycle: Cycle, pod: Pod, node_name: str) -> bool:
        return True


@breaks("score")
class Random(Plugin):
    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return random.randint(0, 100) if TEAM in pod.labels else 50


@breaks("filter")
class ReadsClock(Plugin):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        return unschedulable("node(s) were asleep") if time.time() % 2 < 0.5 else None


@breaks("score")
class ReadsDate(Plugin):
    scope = Scope.STATIC

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return datetime.now().hour


@breaks("score")
class KeptClock(Plugin):
    """The engine's clock, in an answer that is kept."""

    scope = Scope.STATIC

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return int(self.handle.now) % 100


@breaks("filter")
class CountsQuestions(Stateful):
    """Says no to every ninetieth question."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        self.count[""] += 1
        return unschedulable("node(s) were the ninetieth") if self.count[""] % 90 == 0 else None


@breaks("filter")
class KeepsFromOtherCycle(Stateful):
    """Prepares on itself rather than in the cycle."""

    def pre_filter(self, cycle: Cycle, pod: Pod) -> None:
        self.kept["team"] = pod.labels.get(TEAM)

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        wanted = self.kept["team"]
        return unschedulable("node(s) were of another team") if node.labels.get(TEAM) != wanted else None


@breaks("filter_nodes")
class FormsDiffer(Plugin):
    scope = Scope.ROW

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        return unschedulable("node(s) were full") if node.pod_count >= 5 else None

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> np.ndarray:
        return nodes.pod_count <= 5


@breaks("score_nodes")
class ScoresDiffer(Plugin):
    scope = Scope.ROW

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return min(node.free("cpu") // 100, 100)

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> np.ndarray:
        return np.clip(nodes.free("cpu") // 100, 0, 90)


@breaks("score")
class OutOfRange(Plugin):
    """Fine with a handful of pods."""

    scope = Scope.ROW

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 100 - 12 * node.pod_count


@breaks("score")
class ReadsUndeclared(Plugin):
    """Reads pods where only the node is declared, for few pods."""

    scope = Scope.STATIC

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return min(100, node.pod_count) if pod.labels.get(TEAM) == "busy" else 50


@breaks("reserve")
class UnreserveForgets(Stateful):
    def reserve(self, cycle: Cycle, pod: Pod, node_name: str) -> Status | None:
        if self.count[node_name] >= 10:
            return unschedulable("node(s) had nothing to set aside")
        self.count[node_name] += 1
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        return None


@breaks("filter")
class FilterOfLeaks(Stateful):
    """What was set aside for pods that were never bound counts for ever."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        return unschedulable("node(s) had enough") if self.count[node.name] >= 10 else None

    def reserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        self.count[node_name] += 1


@breaks("reserve")
class RemembersEverybody(Stateful):
    """Grows with every pod there ever was."""

    def reserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        self.kept[pod.uid] = node_name


@breaks("filter")
class LooksAtOthers(Plugin):
    """Counts pods of all nodes in an answer about one."""

    scope = Scope.ROW

    def pre_filter(self, cycle: Cycle, pod: Pod) -> None:
        cycle.write("nodes", self.handle.cluster.nodes)

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        fewest = min(each.pod_count for each in cycle.read("nodes"))
        return unschedulable("node(s) had more pods than others") if node.pod_count > fewest + 1 else None


@breaks("events")
class HintSkips(Plugin):
    """Sleeps through nodes that are given the label."""

    scope = Scope.STATIC

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        return (
            None if node.labels.get(TEAM) == pod.labels.get(TEAM) else unresolvable("node(s) were of others")
        )

    def events(self) -> tuple[Interest, ...]:
        return (Interest("Node", Action.ADD | Action.UPDATE_NODE_LABEL, self.helps),)

    def helps(self, pod: Pod, old: NodeObject | None, new: NodeObject) -> Hint:
        return Hint.QUEUE if old is None else Hint.SKIP


@breaks("events")
class EventsMissing(Plugin):
    """Asks to hear of nothing that could help."""

    scope = Scope.ROW

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        return unschedulable("node(s) had three pods") if node.pod_count >= 3 else None

    def events(self) -> tuple[Interest, ...]:
        return (Interest("Node", Action.ADD),)


@breaks("sign")
class SignUnhashable(Plugin):
    scope = Scope.STATIC

    def sign(self, pod: Pod) -> Hashable:
        return [pod.labels[TEAM]] if TEAM in pod.labels else "none"  # type: ignore[return-value]

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 0


@breaks("sign")
class SignChanges(Stateful):
    scope = Scope.STATIC

    def sign(self, pod: Pod) -> Hashable:
        self.count[""] += 1
        return self.count[""] % 3

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 0


@breaks("sign")
class SignReadsMoreThanSpec(Plugin):
    scope = Scope.STATIC

    @reads_spec_only
    def sign(self, pod: Pod) -> Hashable:
        return pod.labels.get(TEAM, "")

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 100 if node.labels.get(TEAM) == pod.labels.get(TEAM) else 0


@breaks("pre_filter")
class MutatesPod(Plugin):
    def pre_filter(self, cycle: Cycle, pod: Pod) -> None:
        pod.labels["seen"] = "yes"


@breaks("score")
class MutatesNode(Plugin):
    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        node.object.status.allocatable["example.com/seen"] = "1"
        return 0


@breaks("score")
class VersionStays(Stateful):
    """Learns of pods, and says at no time that its answers are others."""

    scope = Scope.STATIC

    def pod_seen(self, pod: Pod) -> None:
        self.count[""] += 1

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return self.count[""] % 50


@breaks("normalize")
class NormalizeBreaksOrder(Plugin):
    scope = Scope.ROW

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return node.pod_count

    def normalize(self, values: Sequence[int]) -> list[int]:
        return [100 * value % 101 for value in values]


@breaks("normalize")
class NormalizeDividesByZero(Plugin):
    scope = Scope.ROW

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 1 + node.pod_count

    def normalize(self, values: Sequence[int]) -> list[int]:
        low, high = min(values), max(values)
        return [100 * (value - low) // (high - low) for value in values]


@breaks("the whole run")
class KeepsOnClass(Plugin):
    """State that outlives the plugin."""

    seen: Counter[str] = Counter()

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Status | None:
        return unresolvable("enough pods for today") if self.seen["pods"] > 40 else None

    def reserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        self.seen["pods"] += 1

    def unreserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        self.seen["pods"] -= 1


@breaks("filter")
class NeverSaysNo(Plugin):
    """Forgets to return what it finds."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        if node.labels.get(TEAM) != pod.labels.get(TEAM):
            unschedulable("node(s) were of another team")
        return None


@breaks("permit")
class PermitForgetsToReturn(Plugin):
    def permit(self, cycle: Cycle, pod: Pod, node_name: str) -> Status | None:
        if pod.labels.get(TEAM) == "slow":
            wait(30, "slow pods wait")
        return None


@breaks("filter")
class NeverSaysYes(Plugin):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        return unschedulable("node(s) were never good enough")


@breaks("filter")
class RaisesWithoutLabel(Plugin):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        if TEAM in pod.labels and node.labels[TEAM] != pod.labels[TEAM]:
            return unschedulable("node(s) were of another team")
        return None


@breaks("pre_bind")
class PreBindRaises(Plugin):
    async def pre_bind(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        raise RuntimeError(f"{pod.labels[TEAM]} has no volume")


@breaks("bind")
class BindsNothing(Plugin):
    async def bind(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        return None


@breaks("may_evict")
class EvictsWithWords(Plugin):
    def may_evict(self, pod: Pod | None, victim: Pod) -> bool:
        return victim.labels.get(TEAM) or True  # type: ignore[return-value]


@breaks("less")
class SortsRound(Plugin):
    def less(self, first: object, second: object) -> bool:
        return True


@breaks("pre_enqueue")
class GateStaysShut(Stateful):
    """Nobody has a pod tried when its gate opens."""

    def pod_seen(self, pod: Pod) -> None:
        self.kept[pod.uid] = pod

    def pod_gone(self, pod: Pod) -> None:
        self.kept.pop(pod.uid, None)

    def pre_enqueue(self, pod: Pod) -> Status | None:
        return unresolvable("too many pods") if len(self.kept) > 6 else None

    def events(self) -> tuple[Interest, ...]:
        return (Interest("Node", Action.ADD),)


@breaks("Teams.removed")
class BookRaises(Plugin):
    class Teams(Book[str, int]):
        def added(self, pod: Pod, node: StaticNode) -> None:
            self.add(pod.labels.get(TEAM, ""), +1)

        def removed(self, pod: Pod, node: StaticNode) -> None:
            self.add(pod.labels[TEAM], -1)

    def __init__(self, args: PluginArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._teams = handle.book(self.Teams)

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        full = self._teams.count(pod.labels.get(TEAM, "")) >= 3
        return unschedulable("node(s) were for a team with enough pods") if full else None


@breaks("predicate")
class PredicateRaises(Plugin):
    def on_session_open(self, ssn: Session) -> None:
        ssn.add_predicate(lambda task, job, node: node.labels[TEAM] == task.pod.labels.get(TEAM))


@breaks("node_order")
class SessionCountsWrong(Stateful):
    """Is told of pods that come, and not of those that go again."""

    def on_session_open(self, ssn: Session) -> None:
        self.count.clear()
        ssn.add_node_order(lambda task, node: "many" if self.count[node.name] > 2 else 1)  # type: ignore[arg-type]
        ssn.add_event_handler(allocate=self.came)

    def came(self, task: Task) -> None:
        self.count[task.node_name] += 1


@breaks("group")
class GroupOfWords(Plugin):
    def group(self, pod: Pod) -> Group | None:
        return Group(TEAM, TEAM, (pod.name,), 1) if TEAM in pod.labels else None  # type: ignore[arg-type]


class Zones(DomainState):
    """Counts pods in zones, and forgets to take them out again."""

    def __init__(self) -> None:
        self._pods: Counter[str] = Counter()

    def update(self, row: int, node: Node | None) -> Hashable:
        if node is None:
            return ""
        zone = node.labels.get(TEAM, "")
        self._pods[zone] += node.pod_count
        return zone

    def status(self, key: Hashable) -> Status | None:
        return unschedulable("node(s) were in full zones") if self._pods[str(key)] > 6 else None

    def clone(self) -> Zones:
        copy = Zones()
        copy._pods = Counter(self._pods)
        return copy


@breaks("filter_nodes")
class ZonesNeverEmpty(DomainPlugin):
    def domain(self, cycle: Cycle, pod: Pod) -> Zones:
        return Zones()


@breaks("object_seen")
class ObjectSeenRaises(Plugin):
    reads = ("example.com/v1/racks",)

    def object_seen(self, before: Object | None, after: Object | None) -> None:
        raise RuntimeError("who is that?")

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 0


@breaks("pod_seen")
class PodSeenRaises(Stateful):
    def pod_seen(self, pod: Pod) -> None:
        self.kept[pod.labels["app"]] = pod.name

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 0


@breaks("unreserve")
class UnreserveRaises(Plugin):
    def reserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        cycle.write("reserved", node_name)

    def unreserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        raise ValueError("it is not there any more")


@breaks("filter")
class TouchesTooFew(Plugin):
    """A book about racks that marks the one node only."""

    scope = Scope.ROW

    class Racks(Book[str, int]):
        marks_rows = True

        def added(self, pod: Pod, node: StaticNode) -> None:
            self.add(node.labels.get("rack", ""), +1)
            self.touch(node.name)

        def removed(self, pod: Pod, node: StaticNode) -> None:
            self.add(node.labels.get("rack", ""), -1)
            self.touch(node.name)

    def __init__(self, args: PluginArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._racks = handle.book(self.Racks)

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        full = self._racks.count(node.labels.get("rack", "")) >= 3
        return unschedulable("node(s) were in full racks") if full else None


@breaks("reserve")
class ReserveOnlyErrs(Plugin):
    def reserve(self, cycle: Cycle, pod: Pod, node_name: str) -> Status | None:
        return error("the inventory cannot be reached")
