"""DaemonSets: one pod for every node it may run on, also for nodes that come later."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from mooring.model.objects import (
    Affinity,
    LabelSelectorRequirement,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    Object,
    Pod,
    PodSpec,
    Toleration,
)
from mooring.model.selectors import NODE_NAME_FIELD, required_node_affinity_matches
from mooring.model.taints import NO_EXECUTE, NO_SCHEDULE, first_untolerated
from mooring.sim.controllers.controller import Controller
from mooring.sim.world.defaults import NOT_READY, UNREACHABLE, UNSCHEDULABLE
from mooring.sim.world.naming import template_hash
from mooring.sim.world.workloads import DaemonSet, PodTemplate
from mooring.sim.world.world import World

# What a daemon's pod puts up with, so that it runs on nodes in trouble as well.
TOLERATED = (
    (NOT_READY, NO_EXECUTE),
    (UNREACHABLE, NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    (UNSCHEDULABLE, NO_SCHEDULE),
)
TOLERATED_ON_HOST_NETWORK = (("node.kubernetes.io/network-unavailable", NO_SCHEDULE),)


class DaemonSetController(Controller):
    """Keeps a pod for each eligible node, pinned to it by node affinity: the scheduler places it."""

    def __init__(self, world: World, owner: Object, workload: DaemonSet) -> None:
        template = workload.spec.template
        labels = {"controller-revision-hash": template_hash(template), "pod-template-generation": "1"}
        super().__init__(world, owner, _tolerant(template), labels=labels)
        self._pods: dict[str, str] = {}  # node name to pod key

    def start(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            self._pods[pod.spec.node_name or _pinned_to(pod)] = pod.key
        for node in list(self.world.nodes.values()):
            self.node_joined(node)

    def node_joined(self, node: Node) -> None:
        if node.name not in self._pods and self._eligible(node):
            spec = pinned(self.template.spec, node.name)
            self._pods[node.name] = self.make(base=f"{self.name}-", spec=spec).key

    def node_left(self, node: Node) -> None:
        """A pod still waiting for the node waits in vain."""
        pod = self.world.pods.get(self._pods.pop(node.name, ""))
        if pod is not None and not pod.spec.node_name:
            self.world.delete_pod(pod.key)

    def pod_gone(self, pod: Pod) -> None:
        name = pod.spec.node_name or _pinned_to(pod)
        if self._pods.get(name) == pod.key:
            del self._pods[name]
            if name in self.world.nodes:
                self.node_joined(self.world.nodes[name])

    def _eligible(self, node: Node) -> bool:
        spec = self.template.spec
        if spec.node_name and spec.node_name != node.name:
            return False
        if not required_node_affinity_matches(spec, node.name, node.labels):
            return False
        return first_untolerated(node.spec.taints, spec.tolerations) is None


def pinned(spec: PodSpec, node_name: str) -> PodSpec:
    """The spec for one node: its required node affinity names that node and nothing else."""
    here = LabelSelectorRequirement(key=NODE_NAME_FIELD, operator="In", values=(node_name,))
    required = NodeSelector(node_selector_terms=(NodeSelectorTerm(match_fields=(here,)),))
    affinity = spec.affinity or Affinity()
    node_affinity = replace(
        affinity.node_affinity or NodeAffinity(), required_during_scheduling_ignored_during_execution=required
    )
    return replace(spec, affinity=replace(affinity, node_affinity=node_affinity))


def _pinned_to(pod: Pod) -> str:
    affinity = pod.spec.affinity.node_affinity if pod.spec.affinity else None
    required = affinity.required_during_scheduling_ignored_during_execution if affinity else None
    terms = required.node_selector_terms if required else ()
    fields = (field for term in terms if term for field in term.match_fields)
    return next((field.values[0] for field in fields if field.values), "")


def _tolerant(template: PodTemplate) -> PodTemplate:
    spec = template.spec
    wanted = TOLERATED + (TOLERATED_ON_HOST_NETWORK if spec.host_network else ())
    added = (Toleration(key=key, operator="Exists", effect=effect) for key, effect in wanted)
    missing = tuple(each for each in added if each not in spec.tolerations)
    return replace(template, spec=replace(spec, tolerations=spec.tolerations + missing))
