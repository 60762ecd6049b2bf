"""A scheduler with one plugin that counts pods per domain, asked afresh and by what it keeps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np

from engine.stage import BARE
from engine.stage import Stage as Engine
from mooring.engine.decisions import Bind
from mooring.engine.events import ObjectAdded
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.status import Code, Status
from mooring.model.objects import Object, ObjectMeta
from mooring.plugins.node_unschedulable import NodeUnschedulable
from mooring.plugins.scheduling_gates import SchedulingGates
from mooring.testing import node, pod
from mooring.testing.builders import NodeBuilder, PodBuilder

WEIGHT = 2  # of both plugins in the default profile
HOST, ZONE, REGION = "kubernetes.io/hostname", "topology.kubernetes.io/zone", "region"
PASS, NEVER, NOT_NOW = "pass", "never", "not now"  # never: evicting others cannot help
ANSWERS = {None: PASS, Code.UNSCHEDULABLE: NOT_NOW, Code.UNSCHEDULABLE_AND_UNRESOLVABLE: NEVER}


def nodes(**labels: dict[str, str]) -> list[NodeBuilder]:
    """Nodes by name; each also has its host name as a label."""
    made = [node(name) for name in labels]
    for each, own in zip(made, labels.values(), strict=True):
        for key, value in own.items():
            each.label(key, value)
    return made


def running(counts: dict[str, int], namespace: str = "default", **labels: str) -> list[PodBuilder]:
    """So many pods with these labels on each node."""
    made = []
    for name, count in counts.items():
        for number in range(count):
            unique = "-".join([name, *labels, *labels.values(), str(number)])
            each = pod(unique, namespace).running_on(name)
            for key, value in labels.items():
                each.label(key, value)
            made.append(each)
    return made


def thing(kind: str, name: str, spec: Any = None, namespace: str = "default", **labels: str) -> Object:
    """An object of another kind."""
    meta = ObjectMeta(name=name, namespace=namespace, labels=labels)
    return Object(api_version="v1", kind=kind, metadata=meta, data={"spec": spec or {}})


class Stage:
    """Nothing but the plugin, cordons to leave nodes out by, and gates to hold pods back by."""

    def __init__(
        self, plugin: type[Plugin], things: Iterable[Any], *, kept: bool, args: dict[str, Any] | None = None
    ) -> None:
        text = ""
        if args:
            config = {"name": plugin.name, "args": args}
            text = f"profiles:\n- pluginConfig:\n  - {msgspec.json.encode(config).decode()}\n"
        self.stage = Engine(
            SchedulingGates, NodeUnschedulable, plugin, base=BARE, text=text, keep_scores=True
        )
        self.engine = self.stage.engine
        self.engine.placer.keep_evaluations = kept
        self.kept = kept
        self.plugin: Any = self.stage.plugin(plugin.name)
        for each in things:
            self.add(each)

    def add(self, given: NodeBuilder | PodBuilder | Object) -> None:
        if isinstance(given, Object):
            self.engine.handle(ObjectAdded(given), 0.0)
        elif isinstance(given, NodeBuilder):
            self.stage.nodes(given.build())
        else:
            self.stage.add(given.build())

    def scores(self, make: Any) -> dict[str, int]:
        """Scores of the feasible nodes. Answers are kept from the second pod of a class on."""
        for name in ("first", "second", "third") if self.kept else ("first",):
            self.engine.scores.clear()
            wanted = make(name).build()
            self.stage.add(wanted)
            for decision in self.stage.cycle() or ():
                if isinstance(decision, Bind):
                    self.stage.bound(decision, confirm=False)
            self.stage.delete(wanted)
        if self.kept:
            assert list(self.engine.placer.kept)
            for evaluation in self.engine.placer.kept:
                evaluation.check()
        found = self.engine.scores.get(wanted.key, {})
        return {name: total // WEIGHT for name, total in found.items()}

    def statuses(self, make: Any) -> dict[str, Status | None]:
        """What the plugin says of every node. What is kept says the same about which may be had."""
        wanted = self.engine.specs.shared(make("asked").build())
        pod_class = self.engine.hooks.classes["default-scheduler"].of(wanted)
        table = self.engine.cluster.nodes
        alive = np.array(table.alive[: table.high])
        cycle = Cycle("default-scheduler", 0.0)
        found = self.engine.placer.full.statuses(pod_class, cycle, wanted, alive)
        assert set(self.scores(make)) == {name for name, row in table.rows.items() if row not in found}
        return {name: found.get(row) for name, row in table.rows.items()}

    def answers(self, make: Any) -> list[str]:
        """Of every node in order: pass, never, or not now."""
        return [ANSWERS[status and status.code] for status in self.statuses(make).values()]

    def reasons(self, make: Any) -> list[str]:
        return [status.message if status else "" for status in self.statuses(make).values()]

    def concerned(self, make: Any) -> bool:
        """Whether the plugin has anything to say about a pod."""
        return (
            self.plugin.name in self.engine.hooks.classes["default-scheduler"].of(make("asked").build()).signs
        )
