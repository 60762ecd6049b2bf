"""The engine, step by step, gives the answers of the slow and obvious scheduler.

Random clusters change at random while random pods come and go. At each decision the feasible nodes,
their totals, the set of best nodes and the message are those of `oracle`; and nothing the engine
keeps contradicts anything else.
"""

from __future__ import annotations

import os
import random
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.stage import Stage, node, pod
from engine.tiers import TIERS, hold_as
from mooring.engine.decisions import Bind, Decision, Wait
from mooring.model.objects import (
    Affinity,
    ContainerImage,
    ContainerPort,
    LabelSelectorRequirement,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    PodStatus,
    PreferredSchedulingTerm,
    Taint,
    Toleration,
)
from oracle import Outcome, decide

SOAK_EXAMPLES = int(os.environ.get("MOORING_SOAK_EXAMPLES", "2000"))
MOST_STEPS = 30
GPU = "nvidia.com/gpu"
NAMES = [f"n{i}" for i in range(6)]
MIB = 2**20


def images(*names: str) -> tuple[ContainerImage, ...]:
    sizes = {"app:1": 700 * MIB, "db:latest": 90 * MIB, "gone:2": 5 * MIB}
    return tuple(ContainerImage(names=(name,), size_bytes=sizes[name]) for name in names)


def requirement(key: str, operator: str, *values: str) -> LabelSelectorRequirement:
    return LabelSelectorRequirement(key=key, operator=operator, values=values)


def required(*terms: NodeSelectorTerm) -> Affinity:
    selector = NodeSelector(node_selector_terms=terms)
    return Affinity(node_affinity=NodeAffinity(required_during_scheduling_ignored_during_execution=selector))


def preferred(*terms: tuple[int, LabelSelectorRequirement]) -> Affinity:
    weighed = tuple(
        PreferredSchedulingTerm(weight=weight, preference=NodeSelectorTerm(match_expressions=(r,)))
        for weight, r in terms
    )
    return Affinity(node_affinity=NodeAffinity(preferred_during_scheduling_ignored_during_execution=weighed))


def pinned(*names: str, **more: Any) -> Affinity:
    """What DaemonSet pods carry; one term for each name."""
    terms = (NodeSelectorTerm(match_fields=(requirement("metadata.name", "In", n),), **more) for n in names)
    return required(*terms)


def port(number: int, address: str = "") -> ContainerPort:
    return ContainerPort(host_port=number, host_ip=address)


# what clusters are made of

TAINTS = [
    (),
    (),
    (Taint(key="team", value="red", effect="NoSchedule"),),
    (Taint(key="spot", effect="PreferNoSchedule"),),
    (Taint(key="spot", effect="PreferNoSchedule"), Taint(key="old", value="1", effect="PreferNoSchedule")),
    (Taint(key="sick", effect="NoExecute"), Taint(key="spot", effect="PreferNoSchedule")),
]
LABELS: list[dict[str, str]] = [{}, {"zone": "a"}, {"zone": "b", "cores": "16"}, {"zone": "a", "disk": "ssd"}]
IMAGES = [(), images("app:1"), images("db:latest"), images("app:1", "gone:2")]
SIZES: list[dict[str, Any]] = [
    {"cpu": "2", "memory": "4Gi"},
    {"cpu": "4", "memory": "4Gi", "pods": 4},
    {"cpu": "3500m", "memory": "9Gi", "extra": {GPU: "2"}},
    {"cpu": "1", "memory": "1Gi", "pods": 2, "extra": {"ephemeral-storage": "2Gi"}},
    {"cpu": "8", "memory": 0, "extra": {GPU: 1}},
]
KINDS: list[dict[str, Any]] = [
    {"cpu": "500m", "memory": "512Mi", "image": "app:1"},
    {"cpu": "1500m", "memory": "100Mi", "image": "registry.example:5000/db"},
    {"cpu": None, "image": "db"},
    {"cpu": "250m", "memory": "1Gi", "node_selector": {"zone": "a"}},
    {
        "cpu": "300m",
        "affinity": preferred((50, requirement("zone", "In", "a")), (7, requirement("disk", "Exists"))),
    },
    {
        "cpu": "1",
        "affinity": required(NodeSelectorTerm(match_expressions=(requirement("zone", "NotIn", "a"),))),
    },
    {
        "cpu": "100m",
        "affinity": required(
            NodeSelectorTerm(match_expressions=(requirement("cores", "Gt", "8"),)),
            NodeSelectorTerm(
                match_expressions=(requirement("disk", "Exists"), requirement("cores", "DoesNotExist"))
            ),
        ),
    },
    {"cpu": "200m", "memory": "10Mi", "tolerations": (Toleration(key="team", value="red"),)},
    {"cpu": "200m", "tolerations": (Toleration(operator="Exists"),)},
    {"cpu": "100m", "tolerations": (Toleration(key="spot", operator="Exists", effect="PreferNoSchedule"),)},
    {"cpu": "100m", "ports": (port(80),)},
    {"cpu": "100m", "ports": (port(80, "10.0.0.1"), port(443))},
    {"cpu": "1", "memory": "1Gi", "extra": {GPU: "1"}},
    {"cpu": "100m", "extra": {"ephemeral-storage": "1Gi"}},
    {"cpu": "100m", "affinity": pinned("n1")},
    {"cpu": "100m", "affinity": pinned("n4"), "tolerations": (Toleration(operator="Exists"),)},
    {"cpu": "100m", "affinity": pinned("n0", "n2", "n9")},
    {
        "cpu": "100m",
        "affinity": pinned("n3", match_expressions=(requirement("zone", "In", "a"),)),
    },
    {"cpu": "5", "memory": "64Gi"},
]


def step(name: str, *numbers: st.SearchStrategy[int]) -> st.SearchStrategy[tuple[str, tuple[int, ...]]]:
    return st.tuples(st.just(name), st.tuples(*numbers))


def below(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, count - 1)


NODE = (
    below(len(NAMES)),
    below(len(SIZES)),
    below(len(LABELS)),
    below(len(TAINTS)),
    below(len(IMAGES)),
    below(6),
)
STEPS = st.one_of(
    step("come", below(len(KINDS)), below(3), below(3 * len(NAMES))),
    step("come", below(len(KINDS)), below(3), below(3 * len(NAMES))),
    step("come_many", below(len(KINDS)), st.integers(2, 12)),
    step("run", below(len(KINDS)), below(len(NAMES))),
    step("put_node", *NODE),
    step("put_node", *NODE),
    step("drop_node", below(len(NAMES))),
    step("delete_placed", below(50)),
    step("delete_waiting", below(50)),
    step("confirm", below(50)),
    step("fail_bind", below(50)),
    step("tick", st.integers(1, 400)),
)


def make_node(name: int, size: int, labels: int, taints: int, held: int, cordon: int) -> Node:
    return node(
        NAMES[name],
        **SIZES[size],
        labels=LABELS[labels] | {"kubernetes.io/hostname": NAMES[name]},
        taints=TAINTS[taints],
        images=IMAGES[held],
        unschedulable=cordon == 0,
    )


class World:
    """What the API server would say, kept apart from what the engine says."""

    def __init__(self, *, keeping: bool, tier: str | None = None) -> None:
        self.stage = Stage(keep_scores=True)
        placer = self.stage.engine.placer
        hold_as(self.stage.engine, tier)
        placer.keep_evaluations = keeping
        self.nodes: dict[str, Node] = {}
        self.placed: dict[str, tuple[Pod, str]] = {}
        self.waiting: dict[str, Pod] = {}
        self.nominated: dict[str, tuple[Pod, str]] = {}
        self.binding: list[Bind] = []
        self.may_be_full: set[str] = set()  # nodes that shrank, or took pods nobody asked us about
        self.made = 0
        self.decided = 0

    # steps

    def come(self, kind: int, priority: int, nomination: int) -> None:
        nominated = NAMES[nomination] if nomination < len(NAMES) else ""
        self._come(KINDS[kind] | {"priority": priority}, nominated)
        self.schedule()

    def come_many(self, kind: int, count: int) -> None:
        for _ in range(count):
            self._come(KINDS[kind], "")
        self.schedule()

    def _come(self, fields: dict[str, Any], nominated: str) -> None:
        self.made += 1
        new = pod(f"p{self.made}", nominated=nominated, **fields)
        self.waiting[new.uid] = new
        if nominated:
            self.nominated[new.uid] = (new, nominated)
        self.stage.add(new)

    def run(self, kind: int, name: int) -> None:
        """A pod that somebody else put on a node, known or not."""
        self.made += 1
        new = pod(f"r{self.made}", **KINDS[kind])
        self.placed[new.uid] = (self.stage.running(new, NAMES[name]), NAMES[name])
        self.may_be_full.add(NAMES[name])
        self.schedule()

    def put_node(self, *fields: int) -> None:
        new = make_node(*fields)
        self.may_be_full.add(new.name)
        self.nodes[new.name] = new
        self.stage.change(new)
        self.schedule()

    def drop_node(self, name: int) -> None:
        gone = self.nodes.pop(NAMES[name], None)
        if gone is not None:
            self.stage.delete(gone)
        self.schedule()

    def delete_placed(self, index: int) -> None:
        if self.placed:
            uid = list(self.placed)[index % len(self.placed)]
            gone, _ = self.placed.pop(uid)
            self.stage.delete(gone)
        self.schedule()

    def delete_waiting(self, index: int) -> None:
        if self.waiting:
            gone = self.waiting.pop(list(self.waiting)[index % len(self.waiting)])
            self.nominated.pop(gone.uid, None)
            self.stage.delete(gone)
        self.schedule()

    def confirm(self, index: int) -> None:
        if self.binding:
            bind = self.binding.pop(index % len(self.binding))
            self.stage.bound(bind, confirm=bind.pod.uid in self.placed)  # not if deleted meanwhile
        self.schedule()

    def fail_bind(self, index: int) -> None:
        if not self.binding:
            return
        bind = self.binding.pop(index % len(self.binding))
        decisions = self.stage.bind_failed(bind)
        if self.placed.pop(bind.pod.uid, None) is not None:  # else deleted meanwhile
            (wait,) = decisions
            assert isinstance(wait, Wait)
            assert (wait.reason, wait.message, wait.plugins) == ("SchedulerError", "conflict", ())
            self.waiting[bind.pod.uid] = bind.pod
            self._cleared(bind.pod)
        else:
            assert decisions == []
        self.schedule()

    def tick(self, seconds: int) -> None:
        self.stage.tick(self.stage.now + seconds)
        self.schedule()

    # looking

    def schedule(self) -> None:
        """Every pod that is ready is decided once; pods popped early from back-off stop the round."""
        seen: set[str] = set()
        while (decisions := self.stage.engine.schedule(self.stage.now)) is not None:
            if not decisions:
                continue
            (decision,) = decisions
            self._compare(decision)
            if decision.pod.uid in seen:
                break
            seen.add(decision.pod.uid)
        self.stage.engine.check()

    def _compare(self, decision: Decision) -> None:
        self.decided += 1
        assert isinstance(decision, (Bind, Wait))
        decided = self.waiting[decision.pod.uid]
        right = decide(self.nodes.values(), self.placed.values(), self.nominated.values(), decided)
        if isinstance(decision, Bind):
            self._compare_bind(decision, right)
        else:
            self._compare_wait(decision, right)

    def _compare_bind(self, bind: Bind, right: Outcome) -> None:
        scores = self.stage.engine.scores.pop(bind.pod.key)
        assert scores == right.totals, bind.pod
        assert bind.node in right.best
        self.waiting.pop(bind.pod.uid)
        self.nominated.pop(bind.pod.uid, None)
        self.placed[bind.pod.uid] = (bind.pod, bind.node)
        self.binding.append(bind)

    def _compare_wait(self, wait: Wait, right: Outcome) -> None:
        assert not right.totals, wait
        assert wait.message == right.message
        assert set(wait.plugins) == (right.plugins if right.nodes else set())
        assert wait.nominated == ""
        self._cleared(self.waiting[wait.pod.uid])

    def _cleared(self, refused: Pod) -> None:
        """The nomination of a pod that was refused is taken back, and the API server shows it."""
        self.nominated.pop(refused.uid, None)
        if refused.status.nominated_node_name:
            fresh = msgspec.structs.replace(refused, status=PodStatus())
            self.waiting[refused.uid] = fresh
            self.stage.change(fresh)

    def finish(self) -> None:
        """One more pod of every kind, and a look at everything there is."""
        self.tick(1000)
        for kind in range(len(KINDS)):
            self.come(kind, 2, len(NAMES))
        self.stage.engine.check(afresh=True)
        cluster = self.stage.engine.cluster
        full = {line.partition(":")[0] for line in cluster.overcommitted()}
        assert full <= self.may_be_full
        assert {uid: name for uid, (_, name) in self.placed.items()} == {
            uid: placed.node for uid, placed in cluster.pods.by_uid.items()
        }


def play(
    nodes: list[tuple[int, ...]],
    steps: list[tuple[str, tuple[int, ...]]],
    *,
    keeping: bool,
    tier: str | None = None,
) -> World:
    world = World(keeping=keeping, tier=tier)
    for fields in nodes:
        world.put_node(*fields)
    world.may_be_full.clear()
    for name, arguments in steps:
        getattr(world, name)(*arguments)
    world.finish()
    return world


WORLDS = (st.lists(st.tuples(*NODE), max_size=len(NAMES)), st.lists(STEPS, max_size=MOST_STEPS))
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None, "print_blob": False}


@settings(max_examples=240, **QUIET)
@given(*WORLDS)
def test_kept_evaluation_gives_the_right_answers(nodes: Any, steps: Any) -> None:
    play(nodes, steps, keeping=True)


@pytest.mark.parametrize("tier", TIERS)
@settings(max_examples=80, **QUIET)
@given(*WORLDS)
def test_every_tier_gives_the_right_answers(tier: str, nodes: Any, steps: Any) -> None:
    play(nodes, steps, keeping=True, tier=tier)


@settings(max_examples=80, **QUIET)
@given(*WORLDS)
def test_full_evaluation_gives_the_right_answers(nodes: Any, steps: Any) -> None:
    play(nodes, steps, keeping=False)


@pytest.mark.parametrize("tier", [None, *TIERS])
@pytest.mark.parametrize("seed", range(3))
def test_many_rows_at_once(seed: int, tier: str | None) -> None:
    """Enough nodes, and enough changes between two looks, for rows to be evaluated by columns."""
    draw = random.Random(seed)
    world = World(keeping=True, tier=tier)
    for i in range(70):
        fields = {"labels": draw.choice(LABELS), "taints": draw.choice(TAINTS), "images": draw.choice(IMAGES)}
        each = node(f"w{i}", **draw.choice(SIZES), **fields)
        world.nodes[each.name] = each
        world.stage.change(each)
    for _ in range(2):
        for kind in draw.sample(range(9), 3):
            world.come_many(kind, 30)
        for uid in draw.sample(sorted(world.placed), 28):
            world.stage.delete(world.placed.pop(uid)[0])
    world.finish()


@pytest.mark.soak
@settings(max_examples=SOAK_EXAMPLES, **QUIET)
@given(*WORLDS, st.booleans(), st.sampled_from([None, *TIERS]))
def test_soak(nodes: Any, steps: Any, keeping: bool, tier: str | None) -> None:
    play(nodes, steps, keeping=keeping, tier=tier)
