"""The conformance check: a policy keeps the promises its scope and signature make.

On random clusters that change at random: the per-node form equals the vector form, and the answers
the engine keeps equal answers worked out afresh.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

import numpy as np

from mooring.engine.decisions import Decision
from mooring.engine.engine import Engine
from mooring.engine.events import BindFailed, Bound, NodeAdded, NodeChanged, NodeDeleted, PodAdded, PodDeleted
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.domain import DomainPlugin
from mooring.framework.api.plugin import Plugin
from mooring.framework.running.agreement import check_agreement
from mooring.framework.running.forms import Filter, Scorer
from mooring.model.objects import Pod
from mooring.plugins.catalogue import plans_with
from mooring.testing.builders import NodeBuilder, PodBuilder, node, pod

KEYS = ("tier", "kai.scheduler/instance-type", "topology.kubernetes.io/zone", "gpu")
VALUES = ("a", "b", "spot", "on-demand")


class ConformanceError(AssertionError):
    """The policy breaks a promise; the message says which, and on which seed."""


def check_conformance(
    policy: type[Plugin], *, args: Mapping[str, object] | None = None, rounds: int = 20, seed: int = 0
) -> None:
    """Raises ConformanceError if the policy's two forms, or kept and fresh answers, ever differ."""
    for number in range(seed, seed + rounds):
        _Round(policy, args or {}, number).play()


class _Round:
    """One random cluster, changed a few dozen times."""

    def __init__(self, policy: type[Plugin], args: Mapping[str, object], seed: int) -> None:
        self._random = random.Random(seed)
        self._seed = seed
        self._policy = policy
        plans, registry = plans_with([policy], args, {})
        self.engine = Engine(plans, registry, seed=seed, keep_scores=True)
        self._nodes: dict[str, NodeBuilder] = {}
        self._placed: dict[str, tuple[Pod, str]] = {}
        self._count = 0

    def play(self) -> None:
        for _ in range(self._random.randint(2, 8)):
            self._add_node()
        for _ in range(30):
            self._random.choice((self._add_node, self._change_node, self._drop_node, self._drop_pod))()
            for _ in range(3):
                self._place_pod()
        self.engine.check()

    def _add_node(self) -> None:
        self._count += 1
        name = f"node-{self._count}"
        self._nodes[name] = self._node(name)
        self.engine.handle(NodeAdded(self._nodes[name].build()), 0.0)

    def _change_node(self) -> None:
        if self._nodes:
            name = self._random.choice(sorted(self._nodes))
            self._nodes[name] = self._node(name)
            self.engine.handle(NodeChanged(self._nodes[name].build()), 0.0)

    def _drop_node(self) -> None:
        if len(self._nodes) > 2:
            name = self._random.choice(sorted(self._nodes))
            self.engine.handle(NodeDeleted(self._nodes.pop(name).build()), 0.0)

    def _drop_pod(self) -> None:
        if self._placed:
            placed, _ = self._placed.pop(self._random.choice(sorted(self._placed)))
            self.engine.handle(PodDeleted(placed), 0.0)

    def _place_pod(self) -> None:
        self._count += 1
        wanted = self._pod(f"pod-{self._count}").build()
        self.engine.handle(PodAdded(wanted), 0.0)
        fresh = self._fresh(wanted)
        decisions = self.engine.schedule(0.0) or []
        for decision in decisions:
            if getattr(decision, "pod", None) != wanted:
                continue
            kept = self.engine.scores.get(wanted.key, {})
            if kept != fresh:
                raise ConformanceError(
                    self._say(f"kept answers for {wanted.key} are {kept}, fresh ones {fresh}")
                )
        self._perform(wanted, decisions)

    def _perform(self, wanted: Pod, decisions: list[Decision]) -> None:
        for decision in decisions:
            node_name = getattr(decision, "node", "")
            if not node_name:
                self.engine.handle(PodDeleted(wanted), 0.0)
            elif self._random.random() < 0.1:
                self.engine.handle(BindFailed(wanted, node_name, "refused"), 0.0)
                self.engine.handle(PodDeleted(wanted), 0.0)
            else:
                self._placed[wanted.key] = (wanted.on_node(node_name), node_name)
                self.engine.handle(Bound(wanted, node_name), 0.0)
                self.engine.handle(PodAdded(self._placed[wanted.key][0]), 0.0)

    def _fresh(self, wanted: Pod) -> dict[str, int]:
        """Totals of the feasible nodes, worked out from nothing; the two forms are compared on the way."""
        engine, full = self.engine, self.engine.placer.full
        shared = engine.specs.shared(wanted)
        pod_class = engine.hooks.classes["default-scheduler"].of(shared)
        cycle = Cycle("default-scheduler", 0.0)
        for _, method, _ in pod_class.pre_filters:
            method(cycle, shared)
        self._compare_forms(cycle, shared)
        nodes = engine.cluster.nodes
        ok = full.feasible(pod_class, cycle, shared, nodes.alive[: nodes.high].copy())
        if not ok.any():
            return {}
        for _, method, plugin in pod_class.pre_scores:
            views = [engine.view.view(row) for row in np.flatnonzero(ok).tolist()]
            if method(cycle, shared, () if plugin.scope.kept else views) is not None:
                cycle.skip_score |= {plugin.name}
        totals = full.score(pod_class, cycle, shared, ok).totals
        return {nodes.names[row]: int(totals[row]) for row in np.flatnonzero(ok).tolist()}

    def _compare_forms(self, cycle: Cycle, wanted: Pod) -> None:
        plugin = self.engine.profiles["default-scheduler"].plugins[self._policy.name]
        if plugin.sign(wanted) is None:
            return
        for form in (Filter.of(plugin), Scorer.of(plugin)):
            if form is not None:
                check_agreement(form, cycle, wanted, self.engine.cluster)
        if isinstance(plugin, DomainPlugin):
            what = plugin.rehearse(cycle, wanted, self.engine.view.nodes)
            if what:
                raise ConformanceError(self._say(what))

    def _say(self, what: str) -> str:
        scope = self._policy.scope.name
        return f"{self._policy.name} breaks its promise (scope {scope}, seed {self._seed}): {what}"

    def _node(self, name: str) -> NodeBuilder:
        draw = self._random
        built = node(name).has(cpu=draw.choice((2, 4, 8)), memory=draw.choice(("4Gi", "16Gi")))
        for key in draw.sample(KEYS, draw.randint(0, len(KEYS))):
            built.label(key, draw.choice(VALUES))
        if draw.random() < 0.3:
            built.taint("dedicated", draw.choice(VALUES), draw.choice(("NoSchedule", "PreferNoSchedule")))
        if draw.random() < 0.3:
            built.has(**{"nvidia.com/gpu": draw.choice((1, 4, 8))})
        return built

    def _pod(self, name: str) -> PodBuilder:
        draw = self._random
        wanted = pod(name).requests(cpu=draw.choice(("100m", "1", "3")), memory=draw.choice(("64Mi", "2Gi")))
        wanted.priority(draw.choice((0, 50, 1000)))
        if draw.random() < 0.5:
            wanted.label(draw.choice(KEYS), draw.choice(VALUES))
        if draw.random() < 0.3:
            wanted.annotation(draw.choice(KEYS), draw.choice(VALUES))
        if draw.random() < 0.3:
            wanted.tolerates("dedicated")
        if draw.random() < 0.2:
            wanted.requests(**{"nvidia.com/gpu": 1})
        return wanted
