"""Policies that keep every promise, each in a way that looks as if it did not."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Hashable, Sequence

from mooring import (
    Action,
    Book,
    Cycle,
    Handle,
    Hint,
    Interest,
    Node,
    NodeObject,
    Plugin,
    PluginArgs,
    Pod,
    Scope,
    StaticNode,
    Status,
    error,
    skip,
    unresolvable,
    unschedulable,
    wait,
)

TEAM = "example.com/team"
log = logging.getLogger("policies")
SOUND: list[type[Plugin]] = []


def sound(policy: type[Plugin]) -> type[Plugin]:
    SOUND.append(policy)
    return policy


@sound
class Logs(Plugin):
    """What is logged carries the time; what is decided does not."""

    scope = Scope.STATIC

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        if node.labels.get(TEAM, "") != pod.labels.get(TEAM, ""):
            log.debug("%s is not for %s", node.name, pod.namespace)
            return unresolvable("node(s) were of another team")
        return None


@sound
class Crowded(Plugin):
    """Says no to nodes with a hundred pods."""

    scope = Scope.ROW

    class Args(PluginArgs):
        most: int = 100

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        return unschedulable("node(s) had too many pods") if node.pod_count >= self.args.most else None


@sound
class NightOnly(Plugin):
    """Batch pods run from two to four."""

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        night = 2 <= cycle.now // 3600 % 24 < 4
        return (
            None if night or pod.labels.get("kind") != "batch" else unschedulable("node(s) were busy by day")
        )


@sound
class ReadsNumbers(Plugin):
    """An annotation is a number."""

    scope = Scope.STATIC

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return min(100, int(node.annotations.get("example.com/rank", "0")))


@sound
class LooksAroundBefore(Plugin):
    """Counts over the cluster where that is allowed: what it answers about nodes is of the node alone."""

    scope = Scope.STATIC

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Status | None:
        mine = sum(
            each.namespace == pod.namespace for node in self.handle.cluster.nodes for each in node.pods
        )
        return unresolvable("the namespace has enough pods") if mine >= 9 else None

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        return unresolvable("node(s) were reserved") if node.labels.get("reserved") == "true" else None


@sound
class FollowsPermits(Plugin):
    """Holds slow pods, and lets them go with the next of their team."""

    def permit(self, cycle: Cycle, pod: Pod, node_name: str) -> Status | None:
        if pod.labels.get("pace") == "slow":
            return wait(20, "slow pods wait for a quick one")
        for waiting in list(self.handle.waiting_pods.values()):
            waiting.allow(self.name)
        return None


@sound
class Counts(Plugin):
    """Sets aside, and gives back."""

    def __init__(self, args: PluginArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._held: dict[str, set[str]] = {}
        self._statistics: Counter[str] = Counter()

    def reserve(self, cycle: Cycle, pod: Pod, node_name: str) -> Status | None:
        self._statistics["reserved"] += 1
        held = self._held.setdefault(node_name, set())
        if len(held) >= 6:
            return unschedulable("node(s) had nothing left to set aside")
        held.add(pod.uid)
        return None

    def unreserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        self._held.get(node_name, set()).discard(pod.uid)

    def pod_gone(self, pod: Pod) -> None:
        for held in self._held.values():
            held.discard(pod.uid)


@sound
class Follows(Plugin):
    """A permit and a reserve that only watch."""

    def __init__(self, args: PluginArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self.permitted = 0

    def reserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        cycle.write("reserved", node_name)

    def permit(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        assert cycle.read("reserved") == node_name
        self.permitted += 1


@sound
class Binds(Plugin):
    """Binds pods of one team, and waits for nothing."""

    async def pre_bind(self, cycle: Cycle, pod: Pod, node_name: str) -> Status | None:
        return unschedulable("the team has no volumes") if pod.labels.get(TEAM) == "poor" else None

    async def bind(self, cycle: Cycle, pod: Pod, node_name: str) -> Status | None:
        if TEAM not in pod.labels:
            return skip()
        assert self.handle.api is not None
        await self.handle.api.bind(pod, node_name)
        return None


@sound
class SignsInterest(Plugin):
    """Of a plugin whose answers are not kept, a signature says only whether it has any."""

    def sign(self, pod: Pod) -> Hashable:
        return True if TEAM in pod.labels else None

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        same = node.labels.get(TEAM) == pod.labels[TEAM]
        return None if same else unschedulable("node(s) were of another team")


@sound
class Caches(Plugin):
    """What it works out for a pod is kept for a while, and no longer."""

    def __init__(self, args: PluginArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._cache: dict[str, int] = {}

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        if len(self._cache) > 1000:
            self._cache.clear()
        return self._cache.setdefault(pod.uid, len(pod.name) % 100)


@sound
class SaysError(Plugin):
    """What goes wrong elsewhere is told as an error."""

    def reserve(self, cycle: Cycle, pod: Pod, node_name: str) -> Status | None:
        return error("the inventory does not know the pod") if pod.labels.get("inventory") == "lost" else None


class PerTeam(Book[tuple[str, str], int]):
    marks_rows = True

    def added(self, pod: Pod, node: StaticNode) -> None:
        self.add((node.name, pod.labels.get(TEAM, "")), +1)
        self.touch(node.name)

    def removed(self, pod: Pod, node: StaticNode) -> None:
        self.add((node.name, pod.labels.get(TEAM, "")), -1)
        self.touch(node.name)


@sound
class FewOfATeam(Plugin):
    scope = Scope.ROW

    def __init__(self, args: PluginArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._teams = handle.book(PerTeam)

    def sign(self, pod: Pod) -> Hashable:
        return pod.labels.get(TEAM, "")

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        full = self._teams.count((node.name, pod.labels.get(TEAM, ""))) >= 2
        return unschedulable("node(s) had enough pods of the team") if full else None

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return self._teams.count((node.name, pod.labels.get(TEAM, "")))

    def normalize(self, values: Sequence[int]) -> list[int]:
        top = max(values) or 1
        return [100 - 100 * value // top for value in values]

    def events(self) -> tuple[Interest, ...]:
        return Interest("Pod", Action.DELETE), Interest("Node", Action.ADD)


@sound
class Toleration(Plugin):
    """Of a node it reads taints, of a pod tolerations."""

    scope = Scope.STATIC

    def sign(self, pod: Pod) -> Hashable:
        return frozenset(each.key for each in pod.spec.tolerations)

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        wanted = {taint.key for taint in node.taints} & {"maintenance"}
        tolerated = {each.key for each in pod.spec.tolerations} | {""}
        return unresolvable("node(s) were under repair") if wanted - tolerated else None

    def events(self) -> tuple[Interest, ...]:
        return (Interest("Node", Action.ADD | Action.UPDATE_NODE_TAINT, self.repaired),)

    def repaired(self, pod: Pod, old: NodeObject | None, new: NodeObject) -> Hint:
        broken = any(taint.key == "maintenance" for taint in new.spec.taints)
        return Hint.SKIP if broken else Hint.QUEUE


@sound
class OnlyReady(Plugin):
    scope = Scope.STATIC

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        ready = all(each.status == "True" for each in node.object.status.conditions if each.type == "Ready")
        return None if ready else unresolvable("node(s) were not ready")


@sound
class Dense(Plugin):
    """Resources by name, of nodes and of pods."""

    scope = Scope.ROW

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        asks = pod.request.amount("example.com/dongle")
        left = node.free("example.com/dongle") - asks
        return unschedulable("node(s) would have no dongle left") if asks and left < 1 else None


@sound
class Names(Plugin):
    """Reads names: it signs them."""

    scope = Scope.STATIC

    def sign(self, pod: Pod) -> Hashable:
        return pod.name.startswith("canary-")

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        canary = pod.name.startswith("canary-")
        return (
            unresolvable("node(s) were for canaries") if node.name.startswith("canary-") != canary else None
        )
