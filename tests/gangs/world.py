"""A cluster with gangs in it: an API server's memory, a scheduler that may die, and what must always hold.

The server's pods are the truth. Binds are carried out some time after they were decided, or fail, or are
lost with the scheduler that decided them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from engine.stage import node, pod
from mooring.app.making import make_engine, read_config
from mooring.engine.decisions import Bind, Decision, Evict, Wait
from mooring.engine.engine import Engine
from mooring.engine.events import (
    BindFailed,
    Bound,
    NodeAdded,
    NodeDeleted,
    PodAdded,
    PodChanged,
    PodDeleted,
    Tick,
)
from mooring.model.objects import Node, Pod
from mooring.plugins.catalogue import make_registry

NAME = "gang.scheduling.koordinator.sh/name"
MIN = "gang.scheduling.koordinator.sh/min-available"
MODE = "gang.scheduling.koordinator.sh/mode"
LONG_S = 700.0  # every back-off is over by then, and pods nobody wakes are looked at again

REGISTRY = make_registry()
CONFIG = read_config(None, REGISTRY)


class Gang(msgspec.Struct, frozen=True):
    """Equal pods. `needed` of them start together."""

    name: str
    needed: int
    cpu: int
    priority: int
    strict: bool = True


class World:
    """Takes steps with numbers; anything goes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 0.0
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}  # by uid
        self.gang_of: dict[str, Gang] = {}
        self.gangs: dict[str, Gang] = {}
        self.unanswered: list[Bind] = []
        self.started: set[str] = set()  # gangs of which enough were told to bind
        self.satisfied: set[str] = set()  # those of which the scheduler has seen a pod bound
        self.made = 0
        self.seen: Counter[str] = Counter()  # what has happened, for whoever wants enough of it to
        self.engine = self._start()

    # steps

    def add_node(self, cpu: int) -> None:
        self.made += 1
        name = f"n{self.made}"
        self.nodes[name] = node(name, cpu=cpu)
        self._tell(NodeAdded(self.nodes[name]))

    def lose_node(self, which: int) -> None:
        """A node goes, and the pods on it with it."""
        if not self.nodes:
            return
        name = sorted(self.nodes)[which % len(self.nodes)]
        gone = self.nodes.pop(name)
        self._tell(NodeDeleted(gone))
        for uid in [uid for uid, each in self.pods.items() if each.spec.node_name == name]:
            self.delete(uid)

    def add_gang(self, size: int, needed: int, cpu: int, priority: int, strict: bool) -> None:
        self.made += 1
        gang = Gang(f"g{self.made}", min(needed, size), cpu, priority, strict)
        self.gangs[gang.name] = gang
        for _ in range(size):
            self._add_member(gang)

    def add_member(self, which: int) -> None:
        if self.gangs:
            gang = self.gangs[sorted(self.gangs)[which % len(self.gangs)]]
            self.seen["joined late"] += gang.name in self.started
            self._add_member(gang)

    def add_pod(self, cpu: int, priority: int) -> None:
        self.made += 1
        self._create(pod(f"p{self.made}", cpu=cpu, priority=priority))

    def delete_any(self, which: int) -> None:
        if self.pods:
            self.delete(sorted(self.pods)[which % len(self.pods)])

    def delete(self, uid: str) -> None:
        gone = self.pods.pop(uid)
        gang = self.gang_of.get(uid)
        if gang is not None and all(self.gang_of.get(other) is not gang for other in self.pods):
            self.satisfied.discard(gang.name)  # a gang without pods is forgotten; those that come begin anew
            self.started.discard(gang.name)
        self._tell(PodDeleted(gone))

    def schedule(self, cycles: int) -> bool:
        """Whether nothing is left to decide after so many cycles."""
        for _ in range(cycles):
            decisions = self.engine.schedule(self.now)
            if decisions is None:
                return True
            self._take(decisions)
            self.check()
        return False

    def answer(self, count: int, fails: bool) -> None:
        """Some binds are carried out, or one of them is refused."""
        for _ in range(min(count, len(self.unanswered))):
            bind = self.unanswered.pop(0)
            if bind.pod.uid not in self.pods or bind.node not in self.nodes:
                self._tell(BindFailed(bind.pod, bind.node, "not found"))
            elif fails:
                fails = False
                self._tell(BindFailed(bind.pod, bind.node, "refused"))
            else:
                self._bound(bind)

    def wait(self, seconds: int) -> None:
        self.now += seconds
        self._tell(Tick())

    def restart(self, lost: int) -> None:
        """The scheduler dies. Of the binds that were under way some had arrived, the others are lost."""
        arrived, self.unanswered = self.unanswered[lost:], []
        for bind in arrived:
            if bind.pod.uid in self.pods and bind.node in self.nodes:
                self.pods[bind.pod.uid] = self.pods[bind.pod.uid].on_node(bind.node)
        self.seen["restarted"] += bool(arrived)
        bound = Counter(self._gangs_placed())
        self.satisfied = {name for name in self.satisfied if bound[name] >= self.gangs[name].needed}
        self.engine = self._start()

    # what must hold

    def check(self) -> None:
        self.engine.check()
        used: Counter[str] = Counter()
        for each in self._placed():
            used[each.spec.node_name] += each.request.cpu_milli
        for name, amount in used.items():
            if name in self.nodes:
                assert amount <= 1000 * int(self.nodes[name].status.allocatable["cpu"]), f"{name} is too full"

    def settle(self) -> None:
        """Everything that can happen by itself happens; then no gang waits that could start."""
        for _ in range(12):
            assert self.schedule(500), "pods go round and round"
            self.answer(len(self.unanswered), fails=False)
            self.wait(int(LONG_S / 6))
        assert self.schedule(500), "pods go round and round"
        self.answer(len(self.unanswered), fails=False)
        self.check()
        self._nobody_is_stuck()

    def _nobody_is_stuck(self) -> None:
        """No deadlock: whatever waits does not fit into what is free, even alone."""
        for gang in self.gangs.values():
            waiting = [each for each in self.pods.values() if self._waits_in(each, gang)]
            bound = [each for each in self._placed() if self.gang_of.get(each.uid) is gang]
            if not waiting:
                continue
            needed = 1 if gang.name in self.satisfied else gang.needed - len(bound)
            if len(waiting) < needed:
                continue  # members that have not come
            assert self._places_free(gang) < max(needed, 1), f"{gang} could start, and waits"

    def _places_free(self, gang: Gang) -> int:
        used: Counter[str] = Counter()
        for each in self._placed():
            used[each.spec.node_name] += each.request.cpu_milli // 1000
        free = (int(n.status.allocatable["cpu"]) - used[name] for name, n in self.nodes.items())
        return sum(max(room, 0) // gang.cpu for room in free)

    def _placed(self) -> Iterable[Pod]:
        """Pods that have a node, as far as the server knows or has been asked to see to."""
        under_way = {bind.pod.uid: bind.node for bind in self.unanswered}
        for uid, each in self.pods.items():
            if each.spec.node_name:
                yield each
            elif uid in under_way:
                yield each.on_node(under_way[uid])

    def _waits_in(self, each: Pod, gang: Gang) -> bool:
        return self.gang_of.get(each.uid) is gang and not each.spec.node_name

    # the two sides

    def _start(self) -> Engine:
        """A scheduler that learns of everything from the server."""
        engine = make_engine(CONFIG, REGISTRY, seed=self.random.randrange(1000))
        for each in self.nodes.values():
            engine.handle(NodeAdded(each), self.now)
        for known in sorted(self.pods.values(), key=lambda known: known.uid):
            engine.handle(PodAdded(known), self.now)
        return engine

    def _add_member(self, gang: Gang) -> None:
        self.made += 1
        notes = {NAME: gang.name, MIN: str(gang.needed), MODE: "Strict" if gang.strict else "NonStrict"}
        uid = f"{gang.name}-{self.made}"
        member = pod(uid, cpu=gang.cpu, priority=gang.priority, annotations=notes)
        self.gang_of[uid] = gang
        self._create(member)

    def _create(self, new: Pod) -> None:
        self.pods[new.uid] = new
        self._tell(PodAdded(new))

    def _bound(self, bind: Bind) -> None:
        self.pods[bind.pod.uid] = self.pods[bind.pod.uid].on_node(bind.node)
        if bind.pod.uid in self.gang_of:
            self.satisfied.add(self.gang_of[bind.pod.uid].name)
        self._tell(Bound(bind.pod, bind.node))
        self._tell(PodChanged(self.pods[bind.pod.uid]))

    def _tell(self, event: Any) -> None:
        self._take(self.engine.handle(event, self.now))

    def _take(self, decisions: list[Decision]) -> None:
        before = Counter(self._gangs_placed())
        for decision in decisions:
            self.seen["refused"] += isinstance(decision, Wait) and "can be placed" in decision.message
            self.seen["evicted"] += isinstance(decision, Evict)
            if isinstance(decision, Bind):
                assert decision.pod.uid in self.pods, "a pod that is gone"
                assert not self.pods[decision.pod.uid].spec.node_name, "bound twice"
                assert all(bind.pod.uid != decision.pod.uid for bind in self.unanswered), "bound twice"
                self.unanswered.append(decision)
        self._started_whole(before, Counter(self._gangs_placed()))
        for decision in decisions:
            if isinstance(decision, Evict) and decision.pod.uid in self.pods and not decision.in_memory:
                self.unanswered = [bind for bind in self.unanswered if bind.pod.uid != decision.pod.uid]
                self.delete(decision.pod.uid)

    def _gangs_placed(self) -> Iterable[str]:
        return (self.gang_of[each.uid].name for each in self._placed() if each.uid in self.gang_of)

    def _started_whole(self, before: Counter[str], after: Counter[str]) -> None:
        """All or nothing: whoever starts a strict gang places as many as it needs at once."""
        for name, count in after.items():
            gang = self.gangs[name]
            if count > before[name] and name not in self.started:
                assert count >= gang.needed or not gang.strict, f"{gang} started with {count}"
            if count >= gang.needed and name not in self.started:
                self.started.add(name)
                self.seen["started"] += gang.needed > 1


def random_steps(
    world: World, draw: random.Random, *, members: int = 5, cpu: int = 4
) -> list[Callable[[], Any]]:
    """What may happen in a life: nodes, gangs of so many and pods of so many cores come and go, pods are
    scheduled, binds are answered, time passes, the scheduler dies."""
    return [
        lambda: world.add_node(draw.randint(1, 8)),
        lambda: world.lose_node(draw.randrange(9)),
        lambda: world.add_gang(
            draw.randint(1, members), draw.randint(1, members), 1, draw.randrange(3), draw.random() < 0.5
        ),
        lambda: world.add_pod(draw.randint(1, cpu), draw.randrange(3)),
        lambda: world.delete_any(draw.randrange(99)),
        lambda: world.schedule(draw.randrange(20)),
        lambda: world.answer(draw.randrange(9), draw.random() < 0.3),
        lambda: world.wait(draw.choice((1, 5, 40, 400))),
        lambda: world.restart(draw.randrange(4)),
    ]
