"""Whatever stands in labels and annotations of pods, everybody else is placed."""

from __future__ import annotations

import random
from typing import Any

from fuzz.fuzzing import fuzzed
from fuzz.mutation import strange
from mooring.app.making import make_engine
from mooring.config.load import default_config
from mooring.engine.decisions import Bind, Evict
from mooring.engine.engine import Engine
from mooring.engine.events import NodeAdded, PodAdded, PodChanged, PodDeleted
from mooring.model.objects import Pod
from mooring.plugins.catalogue import make_registry
from mooring.testing import node, pod

GANG = "gang.scheduling.koordinator.sh/"
SPEC = '{"gatherStrategy":[{"layer":"rack","strategy":"MustGather"}]}'
SOUND: dict[str, tuple[str, ...]] = {
    GANG + "name": ("g", "h"),
    GANG + "min-available": ("1", "2", "3"),
    GANG + "total-number": ("2", "5"),
    GANG + "mode": ("Strict", "NonStrict"),
    GANG + "match-policy": ("once-satisfied", "only-waiting", "waiting-and-running"),
    GANG + "groups": ('["default/g"]', '["default/g","default/h"]'),
    GANG + "waiting-time": ("30s", "1h"),
    GANG + "network-topology-spec": (SPEC,),
    GANG + "network-topology-index": ("0", "1"),
    "scheduling.koordinator.sh/network-topology-selector": ("rack=r",),
    "scheduling.k8s.io/group-name": ("g",),
    "kai.scheduler/subgroup-name": ("s",),
    "volcano.sh/task-spec": ("worker",),
    "quota.scheduling.koordinator.sh/preemptible": ("false",),
    "scheduling.koordinator.sh/disable-preemptible": ("true",),
    "koordinator.sh/priority": ("9999",),
    "pod-group.scheduling.sigs.k8s.io": ("g",),
    "pod-group.scheduling.sigs.k8s.io/name": ("g",),
    "pod-group.scheduling.sigs.k8s.io/min-available": ("2",),
    "scheduling.x-k8s.io/pod-group": ("g",),
    "mooring.io/scheduler-name": ("default-scheduler",),
}


def word(rng: random.Random, key: str) -> str:
    value: Any = rng.choice(SOUND[key]) if rng.random() < 0.6 else strange(rng)
    return value if isinstance(value, str) else str(value)


def member(rng: random.Random, name: str) -> Pod:
    made = pod(name).requests(cpu="100m")
    for key in rng.sample(sorted(SOUND), rng.randint(1, 8)):
        made = made.label(key, word(rng, key)) if rng.random() < 0.4 else made.annotation(key, word(rng, key))
    return made.build()


def decide(engine: Engine, now: float) -> set[str]:
    """Everything there is to decide at this moment. Returns who was bound."""
    bound = set[str]()
    while (decisions := engine.schedule(now)) is not None:
        bound |= {each.pod.name for each in decisions if isinstance(each, Bind)}
        assert not any(isinstance(each, Evict) and each.pod.name.startswith("plain") for each in decisions)
    return bound


@fuzzed(played=80)
def test_everybody_else_is_placed(rng: random.Random) -> None:
    registry = make_registry()
    engine = make_engine(default_config(registry), registry)
    for number in range(3):
        engine.handle(NodeAdded(node(f"n{number}").label("rack", f"r{number % 2}").build()), 0.0)
    members = [member(rng, f"m{number}") for number in range(rng.randint(1, 8))]
    for now, each in enumerate(members):
        engine.handle(PodAdded(each), float(now))
        decide(engine, float(now))
    now = float(len(members))
    for each in rng.sample(members, len(members) // 2):
        told = PodDeleted(each) if rng.random() < 0.5 else PodChanged(member(rng, each.name))
        engine.handle(told, now)
    engine.handle(PodAdded(pod("plain").requests(cpu="100m").build()), now)
    assert "plain" in decide(engine, now)
    engine.check()
