"""Sessions in random lives: hooks whose answers change with time and with what their handlers were told.

Whatever happens, what handlers heard adds up to who holds a place; pods are placed by what is kept as they
are afresh, and as asking each plugin and then each hook in turn would have it; and a life that is lived again
has the same rounds, byte for byte.
"""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import numpy as np
import pytest

from engine.stage import node, pod
from engine.twice import place_twice
from gangs.world import World, random_steps
from mooring.app.making import make_engine
from mooring.cluster.pods import RELEASING
from mooring.config.load import load_config
from mooring.engine.engine import Engine
from mooring.engine.events import NodeAdded, PodAdded
from mooring.engine.placement.fit_error import FitError
from mooring.engine.placement.search import Search
from mooring.engine.placement.session_forms import SESSION
from mooring.engine.recording.entries import decode, encode
from mooring.engine.recording.recorded_engine import RecordedEngine
from mooring.engine.recording.replay import Replayed, replay
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.session import Job, Session, Task
from mooring.framework.api.status import Status, unschedulable
from mooring.model.objects import LabelSelector, TopologySpreadConstraint
from mooring.plugins.catalogue import make_registry

LIVES, STEPS = 60, 30
SPREAD = TopologySpreadConstraint(1, "zone", "DoNotSchedule", LabelSelector({"app": "a"}))
CONFIG_TEXT = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins: {multiPoint: {enabled: [{name: Tally}]}}
"""


class Tally(Plugin):
    """Knows who is on which node by what it is told alone, from the opening of the session on."""

    sessions: list[tuple[float, int]] = []  # of all lives: when each was opened, and how many jobs it had
    mistakes: list[str] = []  # of those who tell it

    def on_session_open(self, ssn: Session) -> None:
        self.session = ssn
        self.on = defaultdict[str, set[str]](set)
        for view in ssn.cluster.nodes:
            self.on[view.name] = {each.uid for each in view.pods}
        ssn.add_event_handler(self._came, self._went)
        if int(ssn.now) % 3 != 1:
            ssn.add_predicate(self._may)
        if int(ssn.now) % 3 != 2:
            ssn.add_node_order(self._order)
        ssn.add_pre_predicate(self._may_at_all)

    def on_session_close(self, ssn: Session) -> None:
        self.sessions.append((ssn.now, len(ssn.jobs)))

    def _came(self, task: Task) -> None:
        if task.pod.uid in self.on[task.node_name]:
            self.mistakes.append(f"{task.pod.uid} is there already")
        self.on[task.node_name].add(task.pod.uid)

    def _went(self, task: Task) -> None:
        if task.pod.uid not in self.on[task.node_name]:
            self.mistakes.append(f"{task.pod.uid} was not there")
        self.on[task.node_name].discard(task.pod.uid)

    def _may_at_all(self, task: Task, job: Job) -> Status | None:
        there = sum(map(len, self.on.values()))
        return unschedulable("too many") if there > 8 + int(self.session.now) % 7 else None

    def _may(self, task: Task, job: Job, node: Any) -> Status | None:
        most = 2 + (int(self.session.now) + len(job.tasks)) % 3
        return unschedulable("crowded") if len(self.on[node.name]) >= most else None

    def _order(self, task: Task, node: Any) -> float:
        return len(self.on[node.name]) * (7.5 if int(self.session.now) % 2 else -20)


def registry() -> Any:
    made = make_registry()
    made.add(Tally, trusted=True)
    return made


REGISTRY = registry()
CONFIG = load_config(CONFIG_TEXT, "config.yaml", REGISTRY)


def started(seed: int) -> RecordedEngine:
    engine = make_engine(CONFIG, REGISTRY, seed=seed, kind=RecordedEngine)
    assert isinstance(engine, RecordedEngine)
    engine.placer.keep_scores = True
    return engine


class SessionWorld(World):
    """Every pod is placed three times: kept, afresh, and by hand."""

    def __init__(self, seed: int) -> None:
        self.lives: list[tuple[int, list[bytes]]] = []
        self.compared = 0
        super().__init__(seed)

    def _start(self) -> Engine:
        seed = self.random.randrange(1000)
        entries: list[bytes] = []
        self.lives.append((seed, entries))
        engine = started(seed)
        engine.record = lambda entry: entries.append(encode(entry))
        place_twice(engine)
        self._compare(engine)
        for each in self.nodes.values():
            engine.handle(NodeAdded(each), self.now)
        for known in sorted(self.pods.values(), key=lambda known: known.uid):
            engine.handle(PodAdded(known), self.now)
        return engine

    def add_node(self, cpu: int) -> None:
        self.made += 1
        name = f"n{self.made}"
        self.nodes[name] = node(name, cpu=cpu, labels={"zone": "ab"[self.made % 2]})
        self._tell(NodeAdded(self.nodes[name]))

    def add_pod(self, cpu: int, priority: int) -> None:
        self.made += 1
        name = f"p{self.made}"
        spread = (SPREAD,) if cpu == 1 else ()
        self._create(
            pod(
                name,
                cpu=cpu,
                priority=priority,
                labels={"app": "a"},
                topology_spread_constraints=spread,
            )
        )

    def check(self) -> None:
        super().check()
        self.engine.check(afresh=True)
        tally: Any = self.engine.profiles["default-scheduler"].plugins["Tally"]
        if self.engine._parts.rounds.open:
            on = defaultdict[str, set[str]](set)
            for uid, placed in self.engine.cluster.pods.by_uid.items():
                if placed.row is not None and placed.hold is not RELEASING:
                    on[placed.node].add(uid)
            assert {node: uids for node, uids in tally.on.items() if uids} == on
        assert Tally.mistakes == []

    def _compare(self, engine: Engine) -> None:
        placer, place = engine.placer, engine.placer.place

        def compared(search: Search) -> Any:
            expected = None
            if not engine.nominator.node_by_uid and search.narrowed is None:
                expected = by_hand(engine, search)
            found: Any = place(search)
            if expected is not None:
                self.compared += 1
                assert expected == ({} if isinstance(found, FitError) else found.totals)
            return found

        placer.place = compared  # type: ignore[method-assign]


def by_hand(engine: Engine, search: Search) -> dict[str, float]:
    """The totals of the nodes that take the pod: plugins first, then hooks, node by node."""
    nodes, full, cycle, pod = engine.cluster.nodes, engine.placer.full, search.cycle.clone(), search.pod
    hearing = cycle.read(SESSION, None)
    pod_class = engine.hooks.classes[cycle.profile].of(pod)
    keeps, full.keeps = full.keeps, False
    ok = full.feasible(pod_class, cycle, pod, nodes.alive[: nodes.high].copy())
    views = {row: engine.view.view(row) for row in np.flatnonzero(ok).tolist()}
    if hearing is not None:
        views = {row: view for row, view in views.items() if hearing.rejection(pod, view) is None}
    ok[:] = False
    ok[list(views)] = True
    full.pre_score(pod_class, cycle, pod, ok)
    totals = full.score(pod_class, cycle, pod, ok).totals
    full.keeps = keeps
    return {
        view.name: totals[row] + (0 if hearing is None else hearing.order(pod, view))
        for row, view in views.items()
    }


def lived(seed: int) -> SessionWorld:
    world, draw = SessionWorld(seed), random.Random(seed)
    for _ in range(3):
        world.add_node(draw.randint(2, 8))
    steps = random_steps(world, draw, members=4, cpu=3)
    for _ in range(STEPS):
        draw.choices(steps, (2, 1, 4, 4, 3, 8, 6, 3, 0.5))[0]()
    return world


@pytest.mark.parametrize("start", range(0, LIVES, 20))
def test_sessions_in_random_lives(start: int) -> None:
    compared = evicted = 0
    rounds: list[int] = []
    for number in range(start, start + 20):
        Tally.sessions = []
        world = lived(number)
        as_lived, Tally.sessions = Tally.sessions, []
        for seed, entries in world.lives:
            assert list(replay(map(decode, entries), started(seed), Replayed())) == [], number
        assert Tally.sessions == as_lived
        compared += world.compared
        evicted += world.seen["evicted"]
        rounds += [jobs for _, jobs in as_lived]
    assert compared > 100
    assert evicted > 5
    assert max(rounds) > 3  # enough has happened for this to mean something
