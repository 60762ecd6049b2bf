"""A scheduler to try things on: nodes, pods, and an engine with the plugins a test brings along."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from mooring.config.load import SchedulerConfig, default_config, load_config
from mooring.engine.decisions import Bind, Decision, Wait
from mooring.engine.engine import Engine
from mooring.engine.events import (
    BindFailed,
    Bound,
    NodeAdded,
    NodeChanged,
    NodeDeleted,
    PodAdded,
    PodChanged,
    PodDeleted,
    Tick,
)
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.framework.api.plugin import Plugin
from mooring.framework.loading.registry import Registry
from mooring.model.objects import (
    Container,
    Node,
    NodeSpec,
    NodeStatus,
    ObjectMeta,
    Pod,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)
from mooring.plugins.balanced_allocation import NodeResourcesBalancedAllocation
from mooring.plugins.default_binder import DefaultBinder
from mooring.plugins.defaults import DEFAULT_MULTI_POINT
from mooring.plugins.image_locality import ImageLocality
from mooring.plugins.node_affinity import NodeAffinity
from mooring.plugins.node_name import NodeName
from mooring.plugins.node_ports import NodePorts
from mooring.plugins.node_resources_fit import NodeResourcesFit
from mooring.plugins.node_unschedulable import NodeUnschedulable
from mooring.plugins.priority_sort import PrioritySort
from mooring.plugins.scheduling_gates import SchedulingGates
from mooring.plugins.taint_toleration import TaintToleration

BUILT_IN: tuple[type[Plugin], ...] = (
    SchedulingGates,
    PrioritySort,
    NodeUnschedulable,
    NodeName,
    TaintToleration,
    NodeAffinity,
    NodePorts,
    NodeResourcesFit,
    NodeResourcesBalancedAllocation,
    ImageLocality,
    DefaultBinder,
)
BARE: tuple[type[Plugin], ...] = (PrioritySort, DefaultBinder)
HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def node(name: str, cpu: Any = "4", memory: Any = "8Gi", pods: int = 110, **more: Any) -> Node:
    """`labels` and `images` go where they belong, `extra` are further resources, the rest is spec."""
    labels, images = more.pop("labels", {}), tuple(more.pop("images", ()))
    room = {"cpu": cpu, "memory": memory, "pods": pods, **more.pop("extra", {})}
    status = NodeStatus(allocatable=room, capacity=room, images=images)
    return Node(metadata=ObjectMeta(name=name, labels=labels), spec=NodeSpec(**more), status=status)


def pod(
    name: str, cpu: Any = "1", memory: Any = None, *, nominated: str = "", uid: str = "", **more: Any
) -> Pod:
    """`labels`, `annotations` and `deleting` go into the metadata, the rest into the spec."""
    requests = {k: v for k, v in (("cpu", cpu), ("memory", memory)) if v is not None}
    requests |= more.pop("extra", {})
    meta = ObjectMeta(
        name=name,
        namespace=more.pop("namespace", "default"),
        uid=uid or name,
        labels=more.pop("labels", {}),
        annotations=more.pop("annotations", {}),
        deletion_timestamp=more.pop("deleting", None),
    )
    container = Container(
        name="main",
        image=more.pop("image", ""),
        ports=more.pop("ports", ()),
        resources=ResourceRequirements(requests=requests),
    )
    spec = {"scheduler_name": "default-scheduler", "containers": (container,)} | more
    return Pod(metadata=meta, spec=PodSpec(**spec), status=PodStatus(nominated_node_name=nominated))


def changed(pod: Pod, **spec: Any) -> Pod:
    """The same pod with other fields in its spec, or other `labels`."""
    if "labels" in spec:
        pod = msgspec.structs.replace(
            pod, metadata=msgspec.structs.replace(pod.metadata, labels=spec.pop("labels"))
        )
    return msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, **spec))


def config(plugins: Sequence[type[Plugin]], text: str = "") -> tuple[SchedulerConfig, Registry]:
    """The default profile made of these plugins; `text` is the rest of a configuration file."""
    registry = Registry((*DEFAULT_MULTI_POINT,))
    own = []
    for plugin in plugins:
        registry.add(plugin, trusted=True)
        if all(use.name != plugin.name for use in DEFAULT_MULTI_POINT):
            own.append(plugin.name)
    if text:
        return load_config(HEADER + text, "config.yaml", registry), registry
    if not own:
        return default_config(registry), registry
    names = "".join(f'\n      - name: "{name}"' for name in own)
    profile = f"profiles:\n- plugins:\n    multiPoint:\n      enabled:{names}\n"
    return load_config(HEADER + profile, "config.yaml", registry), registry


class Stage:
    """An engine, the time, and the other half of the conversation with it."""

    def __init__(self, *plugins: type[Plugin], base: Any = BUILT_IN, text: str = "", **options: Any) -> None:
        plan, self.registry = config((*base, *plugins), text)
        self.engine = Engine(plan.profiles, self.registry, **options)
        self.now = 0.0

    def plugin(self, name: str, profile: str = "default-scheduler") -> Any:
        return self.engine.profiles[profile].plugins[name]

    def nodes(self, *nodes: Node | str) -> Stage:
        for each in nodes:
            self.engine.handle(NodeAdded(node(each) if isinstance(each, str) else each), self.now)
        return self

    def add(self, *pods: Pod) -> list[Decision]:
        return [d for pod in pods for d in self.engine.handle(PodAdded(pod), self.now)]

    def change(self, changed: Pod | Node) -> list[Decision]:
        event = PodChanged(changed) if isinstance(changed, Pod) else NodeChanged(changed)
        return self.engine.handle(event, self.now)

    def delete(self, gone: Pod | Node) -> list[Decision]:
        event = PodDeleted(gone) if isinstance(gone, Pod) else NodeDeleted(gone)
        return self.engine.handle(event, self.now)

    def running(self, pod: Pod, node_name: str) -> Pod:
        """The pod is on the node as far as the API server says."""
        self.engine.handle(PodAdded(bound := pod.on_node(node_name)), self.now)
        return bound

    def tick(self, now: float | None = None) -> list[Decision]:
        self.now = self.now if now is None else now
        return self.engine.handle(Tick(), self.now)

    def bound(self, bind: Bind, *, confirm: bool = True) -> None:
        """The bind was carried out, and the API server shows it."""
        self.engine.handle(Bound(bind.pod, bind.node), self.now)
        if confirm:
            self.engine.handle(PodChanged(bind.pod.on_node(bind.node)), self.now)

    def bind_failed(self, bind: Bind, message: str = "conflict") -> list[Decision]:
        return self.engine.handle(BindFailed(bind.pod, bind.node, message), self.now)

    def cycle(self) -> list[Decision] | None:
        """One scheduling cycle, after which everything still agrees."""
        decisions = self.engine.schedule(self.now)
        self.engine.check()
        return decisions

    def try_pod(self, pod: Pod) -> Decision:
        """The single decision about a new pod."""
        self.add(pod)
        decisions = self.cycle()
        assert decisions is not None
        assert len(decisions) == 1, decisions
        return decisions[0]

    def place(self, pod: Pod) -> str:
        """The node a new pod gets, bound and confirmed."""
        decision = self.try_pod(pod)
        assert isinstance(decision, Bind), decision
        self.bound(decision)
        return decision.node

    def wait(self, pod: Pod) -> Wait:
        """The refusal a new pod gets."""
        decision = self.try_pod(pod)
        assert isinstance(decision, Wait), decision
        return decision

    def all(self) -> dict[str, str]:
        """Schedules until no pod is ready: the node of each pod that got one, bound and confirmed."""
        got = {}
        while (decisions := self.cycle()) is not None:
            for bind in decisions:
                if isinstance(bind, Bind):
                    self.bound(bind)
                    got[bind.pod.name] = bind.node
        return got

    def queued(self, pod: Pod) -> QueuedPod:
        queued = self.engine.queue.get(pod.uid)
        assert queued is not None, f"{pod.key} is not in the queue"
        return queued

    def where(self, pod: Pod) -> str:
        """The part of the queue a pod is in; "" when it is in none."""
        queued = self.engine.queue.get(pod.uid)
        return queued.where.value if queued else ""

    def holds(self, pod: Pod) -> str:
        """The node on which a pod holds a place; "" when on none."""
        placed = self.engine.cluster.pods.by_uid.get(pod.uid)
        return placed.node if placed else ""


def made(name: str, **members: Any) -> type[Plugin]:
    """A plugin class with these methods (which take `self`) and attributes."""
    return type(name, (Plugin,), {"name": name, "__module__": __name__, **members})


def erring() -> type:
    """Fails on pods labelled so."""

    def pre_filter(self: Any, cycle: Any, pod: Pod) -> None:
        if pod.labels.get("err"):
            raise RuntimeError("no")

    return made("Erring", pre_filter=pre_filter)


def bad(name: str) -> Pod:
    return pod(name, labels={"err": "1"})
