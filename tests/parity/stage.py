"""A scenario brought to life: an embedded API server on one side, the engine on the other."""

from __future__ import annotations

import json
from functools import cache

import msgspec

from mooring import Cycle, Plugin
from mooring.config.feature_gates import FeatureGates
from mooring.config.load import load_config
from mooring.engine.decisions import Bind, Decision, Evict, Wait
from mooring.engine.engine import Engine
from mooring.engine.events import BindFailed, Bound, Event
from mooring.framework.loading.registry import Registry
from mooring.model.objects import Object, Pod
from mooring.plugins.catalogue import add_policies, make_registry
from mooring.sim.clock import Clock
from mooring.sim.world.priorities import PriorityClasses
from mooring.sim.world.workloads import PriorityClass
from mooring.sim.world.world import World
from parity.scenario import Scenario

START = 1_800_000_000.0  # after everything that the objects of a scenario tell of
PIN = "test/pinned-to"
# Its part in a message is the same for every pod without resource claims: one file has it, the rest not.
CLAIMS = "DynamicResources"


class PinsPods(Plugin):
    """Gives a waiting pod a node by name. kube-scheduler takes such a pod for a bound one."""

    def before_pre_filter(self, cycle: Cycle, pod: Pod) -> Pod | None:
        name = pod.annotations.get(PIN)
        if name is None:
            return None
        return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=name))


@cache
def registry(*, pins: bool) -> Registry:
    made = make_registry()
    if pins:
        add_policies(made, [PinsPods])
    return made


class Stage:
    """Tells the engine of everything in a scenario but the pods that wait."""

    def __init__(self, scenario: Scenario, *, kept: bool = True) -> None:
        self.scenario = scenario
        self.kept = kept
        known = registry(pins=bool(scenario.pinned))
        plans = load_config(_configuration(scenario), "scenario", known).profiles
        self.weights = {use.name: use.weight for use in plans[0].points["score"]}
        gates = FeatureGates(scenario.gates)
        self.engine = Engine(plans, known, gates=gates, keep_scores=True)
        self.engine.placer.keep_evaluations = kept
        objects = scenario.other_objects()
        self.world = World(Clock(START), priorities=_priorities(objects))
        self.world.subscribe(self._hear)
        for node in scenario.node_objects():
            self.world.create_node(node)
        for other in objects:
            self.world.create_object(other)
        for pod in scenario.bound_pods():
            self.world.create_pod(pod)

    def bring(self, pod: Pod, name: str = "") -> Pod:
        """A pod that waits comes."""
        notes = pod.metadata.annotations
        if self.scenario.pinned:
            notes = {**notes, PIN: self.scenario.pinned}
        meta = msgspec.structs.replace(pod.metadata, name=name or pod.name, annotations=notes)
        return self.world.create_pod(msgspec.structs.replace(pod, metadata=meta))

    def schedule(self) -> list[Decision]:
        """One attempt at the next pod; a pod that gets a place is bound there."""
        decisions = self.engine.schedule(START) or []
        for decision in decisions:
            if isinstance(decision, Bind):
                self.engine.handle(Bound(decision.pod, decision.node), START)
        return decisions

    def rehearse(self, pod: Pod) -> None:
        """Tries a pod's twin and takes it away again: what is kept of its evaluation serves the pod."""
        twin = self.bring(pod, f"{pod.name}-twin")
        for decision in self.engine.schedule(START) or ():
            if isinstance(decision, Bind):
                self.engine.handle(BindFailed(decision.pod, decision.node, "a rehearsal"), START)
        self.world.delete_pod(twin.key)

    def _hear(self, event: Event) -> None:
        assert not self.engine.handle(event, START)


class Outcome(msgspec.Struct, frozen=True):
    """What became of one attempt."""

    bind: Bind | None = None
    wait: Wait | None = None
    victims: frozenset[str] = frozenset()


def outcome(decisions: list[Decision]) -> Outcome:
    return Outcome(
        next((each for each in decisions if isinstance(each, Bind)), None),
        next((each for each in decisions if isinstance(each, Wait)), None),
        frozenset(each.pod.name for each in decisions if isinstance(each, Evict)),
    )


def _priorities(objects: list[Object]) -> PriorityClasses:
    classes = (each.data for each in objects if each.kind == "PriorityClass")
    return PriorityClasses(msgspec.convert(data, PriorityClass) for data in classes)


def _configuration(scenario: Scenario) -> str:
    without = scenario.without if scenario.whole else (CLAIMS, *scenario.without)
    disabled = [{"name": name} for name in without]
    profile = {
        "plugins": {"multiPoint": {"disabled": disabled}},
        "pluginConfig": [{"name": name, "args": args} for name, args in scenario.args.items()],
    }
    return json.dumps(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [profile],
        }
    )
