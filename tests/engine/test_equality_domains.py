"""Spreading and affinity between pods: what is kept, what is worked out afresh and `oracle` are one.

Random clusters of zones, racks and hosts, where labels are missing, shared and change hands, while
pods that look at each other come, go, terminate and are relabelled. Every decision is made three times.
"""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from engine.domain_world import DB, KEYS, NAMES, SPACES, THEMES, WEB, make_node
from engine.stage import BUILT_IN, Stage
from engine.tiers import TIERS, hold_as, tables_above
from engine.twice import place_twice
from mooring.engine.decisions import Bind, Decision, Wait
from mooring.engine.events import ObjectChanged, ObjectDeleted
from mooring.model.objects import Node, Object, ObjectMeta, Pod, PodStatus
from mooring.plugins.topology.interpod import InterPodAffinity
from mooring.plugins.topology.spread import PodTopologySpread
from mooring.testing import pod
from mooring.testing.builders import PodBuilder
from oracle import Outcome, decide
from soaking import soak_seeds

WORLDS_PLAYED, PARTS, STEPS_PLAYED = 600, 8, 36
EACH_TIER = [None, *TIERS]
TABLES_ABOVE = [None, 0, 3]  # groups
# Steps: how often, and the limits of their numbers.
SPACE, NAME, ANY = len(SPACES), len(NAMES), 50
NODE = (NAME, 8, 6, 5, 8, 2)
STEPS: dict[str, tuple[int, tuple[int, ...]]] = {
    "come": (3, (ANY, SPACE, 3, 4 * NAME)),
    "come_many": (6, (ANY, SPACE, 6)),
    "promise": (2, (ANY, SPACE, NAME)),
    "run": (1, (ANY, SPACE, NAME)),
    "put_node": (3, NODE),
    "swap_labels": (2, (NAME, NAME, len(KEYS))),
    "drop_node": (1, (NAME, 2)),
    "delete_placed": (3, (ANY,)),
    "delete_waiting": (1, (ANY,)),
    "terminate": (2, (ANY,)),
    "relabel": (2, (ANY, 3)),
    "confirm": (4, (ANY,)),
    "fail_bind": (1, (ANY,)),
    "service": (1, (SPACE, 3)),
    "namespace": (2, (SPACE, 3)),
    "replica_set": (1, (SPACE, 3)),
    "tick": (1, (400,)),
}


class World:
    """What the API server would say, kept apart from what the engine says."""

    def __init__(self, kinds: list[Any], *, tidy: bool, tier: str | None) -> None:
        self.kinds, self.tidy = kinds, tidy
        self.stage = Stage(PodTopologySpread, InterPodAffinity, base=BUILT_IN, keep_scores=True)
        self.engine = self.stage.engine
        place_twice(self.engine)
        hold_as(self.engine, tier)
        self.nodes: dict[str, Node] = {}
        self.placed: dict[str, tuple[Pod, str]] = {}
        self.waiting: dict[str, Pod] = {}
        self.nominated: dict[str, tuple[Pod, str]] = {}
        self.objects: dict[tuple[str, str], Object] = {}
        self.binding: list[Bind] = []
        self.made = 0

    # pods

    def come(self, kind: int, space: int, priority: int, nomination: int) -> None:
        self._come(kind, space, priority, NAMES[nomination] if nomination < len(NAMES) else "")
        self.schedule()

    def come_many(self, kind: int, space: int, count: int) -> None:
        for _ in range(count):
            self._come(kind, space, 0, "")
        self.schedule()

    def promise(self, kind: int, space: int, name: int) -> None:
        """A pod that is nominated to a node and stays away: room is kept for it."""
        self._come(kind, space, 1, NAMES[name], gates=1)
        self.schedule()

    def _come(self, kind: int, space: int, priority: int, nominated: str, gates: int = 0) -> None:
        made = self._make(kind, space).priority(priority).nominated_to(nominated)
        for _ in range(gates):
            made.gated("later")
        new = made.build()
        self.waiting[new.uid] = new
        if nominated:
            self.nominated[new.uid] = (new, nominated)
        self.stage.add(new)

    def run(self, kind: int, space: int, name: int) -> None:
        """A pod that somebody else put on a node, known or not."""
        new = self._make(kind, space).running_on(NAMES[name]).build()
        self.placed[new.uid] = (new, NAMES[name])
        self.stage.add(new)
        self.schedule()

    def _make(self, kind: int, space: int) -> PodBuilder:
        self.made += 1
        bare = pod(f"p{self.made}", SPACES[space]).requests(cpu="1m")
        made: PodBuilder = self.kinds[kind % len(self.kinds)](bare)
        return made

    def delete_placed(self, index: int) -> None:
        if self.placed:
            gone, _ = self.placed.pop(list(self.placed)[index % len(self.placed)])
            self.stage.delete(gone)
        self.schedule()

    def delete_waiting(self, index: int) -> None:
        if self.waiting:
            gone = self.waiting.pop(list(self.waiting)[index % len(self.waiting)])
            self.nominated.pop(gone.uid, None)
            self.stage.delete(gone)
        self.schedule()

    def terminate(self, index: int) -> None:
        self._change(index, deletion_timestamp="2026-01-01T00:00:00Z")

    def relabel(self, index: int, labels: int) -> None:
        self._change(index, labels=({}, WEB, DB)[labels])

    def _change(self, index: int, **metadata: Any) -> None:
        """The metadata of a pod that the API server shows on its node."""
        assumed = {bind.pod.uid for bind in self.binding}
        if settled := [uid for uid in self.placed if uid not in assumed]:
            old, name = self.placed[settled[index % len(settled)]]
            meta = msgspec.structs.replace(old.metadata, **metadata)
            new = msgspec.structs.replace(old.on_node(name), metadata=meta)
            self.placed[new.uid] = (new, name)
            self.stage.change(new)
        self.schedule()

    def confirm(self, index: int) -> None:
        if self.binding:
            bind = self.binding.pop(index % len(self.binding))
            self.stage.bound(bind, confirm=bind.pod.uid in self.placed)
        self.schedule()

    def fail_bind(self, index: int) -> None:
        if self.binding:
            bind = self.binding.pop(index % len(self.binding))
            self.stage.bind_failed(bind)
            if self.placed.pop(bind.pod.uid, None) is not None:  # else deleted meanwhile
                self.waiting[bind.pod.uid] = bind.pod
                self._cleared(bind.pod)
        self.schedule()

    # nodes; not every change is looked at by itself

    def put_node(self, *fields: int) -> None:
        self._put(make_node(self.tidy, *fields))
        if fields[-1]:
            self.schedule()

    def swap_labels(self, one: int, other: int, key: int) -> None:
        """Two nodes change one label with each other between two looks."""
        names = [NAMES[one], NAMES[other]]
        if one != other and all(name in self.nodes for name in names):
            first, second = (self.nodes[name] for name in names)
            values = [each.labels.get(KEYS[key]) for each in (first, second)]
            for each, value in zip((first, second), reversed(values), strict=True):
                labels = {k: own for k, own in each.labels.items() if k != KEYS[key]}
                labels |= {} if value is None else {KEYS[key]: value}
                meta = msgspec.structs.replace(each.metadata, labels=labels)
                self._put(msgspec.structs.replace(each, metadata=meta))
        self.schedule()

    def _put(self, new: Node) -> None:
        self.nodes[new.name] = new
        self.stage.change(new)

    def drop_node(self, name: int, look: int) -> None:
        gone = self.nodes.pop(NAMES[name], None)
        if gone is not None:
            self.stage.delete(gone)
        if look:
            self.schedule()

    # other objects

    def service(self, space: int, selector: int) -> None:
        labels = ({}, WEB, DB)[selector]
        self._object("Service", "s", SPACES[space], {"selector": labels}, gone=not labels)

    def replica_set(self, space: int, selector: int) -> None:
        labels = ({}, WEB, WEB | {"v": "1"})[selector]
        spec = {"selector": {"matchLabels": labels}}
        self._object("ReplicaSet", "rs", SPACES[space], spec, gone=not labels)

    def namespace(self, space: int, team: int) -> None:
        labels = ({}, {"team": "x"}, {"team": "y"})[team]
        self._object("Namespace", SPACES[space], "", {}, labels)

    def _object(
        self, kind: str, name: str, space: str, spec: Any, labels: Any = None, *, gone: bool = False
    ) -> None:
        meta = ObjectMeta(name=name, namespace=space, labels=labels or {})
        found = Object(api_version="v1", kind=kind, metadata=meta, data={"spec": spec})
        if gone:
            self.objects.pop((kind, found.key), None)
        else:
            self.objects[kind, found.key] = found
        self.engine.handle((ObjectDeleted if gone else ObjectChanged)(found), self.stage.now)
        self.schedule()

    def tick(self, seconds: int) -> None:
        self.stage.tick(self.stage.now + seconds)
        self.schedule()

    # looking

    def schedule(self) -> None:
        """Every pod that is ready is decided once; pods popped early from back-off stop the round."""
        seen: set[str] = set()
        while (decisions := self.engine.schedule(self.stage.now)) is not None:
            if not decisions:
                continue
            (decision,) = decisions
            self._compare(decision)
            if decision.pod.uid in seen:
                break
            seen.add(decision.pod.uid)
        self.engine.check()

    def _compare(self, decision: Decision) -> None:
        assert isinstance(decision, (Bind, Wait))
        wanted = self.waiting[decision.pod.uid]
        right = decide(
            self.nodes.values(),
            self.placed.values(),
            self.nominated.values(),
            wanted,
            self.objects.values(),
        )
        if isinstance(decision, Bind):
            self._compare_bind(decision, right)
            return
        assert not right.totals, decision
        assert decision.message == right.message
        assert set(decision.plugins) == (right.plugins if right.nodes else set())
        self._cleared(wanted)

    def _compare_bind(self, bind: Bind, right: Outcome) -> None:
        assert self.engine.scores.pop(bind.pod.key) == right.totals, bind.pod
        assert bind.node in right.best
        self.waiting.pop(bind.pod.uid)
        self.nominated.pop(bind.pod.uid, None)
        self.placed[bind.pod.uid] = (bind.pod, bind.node)
        self.binding.append(bind)

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
        for kind in range(len(self.kinds)):
            self.come(kind, 0, 2, len(NAMES))
        self.engine.check(afresh=True)
        assert {uid: name for uid, (_, name) in self.placed.items()} == {
            uid: placed.node for uid, placed in self.engine.cluster.pods.by_uid.items()
        }


def play(seed: int) -> None:
    """One world, all of whose accidents come from a seed."""
    with tables_above(TABLES_ABOVE[seed % len(TABLES_ABOVE)]):
        _play(seed)


def _play(seed: int) -> None:
    draw = random.Random(seed)
    theme = draw.choice(THEMES)
    kinds = [draw.choice(theme) for _ in range(draw.randint(1, 4))]
    world = World(kinds, tidy=draw.random() < 0.5, tier=EACH_TIER[seed % len(EACH_TIER)])

    def numbers(limits: tuple[int, ...]) -> list[int]:
        return [draw.randrange(limit) for limit in limits]

    for name in range(draw.randint(2, len(NAMES))):
        world.put_node(name, *numbers(NODE[1:]))
    weights = [often for often, _ in STEPS.values()]
    for step in draw.choices(list(STEPS), weights, k=STEPS_PLAYED):
        getattr(world, step)(*numbers(STEPS[step][1]))
    world.finish()


@pytest.mark.parametrize("part", range(PARTS))
def test_kept_and_fresh_answers_are_right(part: int) -> None:
    for seed in range(part, WORLDS_PLAYED, PARTS):
        try:
            play(seed)
        except Exception as error:
            raise AssertionError(f"play({seed})") from error


@pytest.mark.soak
def test_soak_domains() -> None:
    for seed in soak_seeds(WORLDS_PLAYED):
        try:
            play(seed)
        except Exception as error:
            raise AssertionError(f"play({seed})") from error
