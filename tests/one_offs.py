"""Pods, nodes and objects of which there is only one: each with names, labels and wishes of its own.

They come as the API server sends them, through the decoders that read a real one, into an engine of the
default profile; they are scheduled, and they go again. What the engine knows afterwards must be what it knew
before: `tests/engine/test_forgetting.py` counts it, and `tests/soak_pods.py` weighs it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from mooring.app.making import make_engine
from mooring.config.load import default_config
from mooring.engine.decisions import Bind
from mooring.engine.engine import Engine
from mooring.engine.events import (
    Bound,
    Event,
    NodeAdded,
    NodeDeleted,
    ObjectAdded,
    ObjectDeleted,
    PodAdded,
    PodChanged,
    PodDeleted,
    Tick,
)
from mooring.kube.decode.decoders import Decoders
from mooring.kube.resources import (
    BY_KIND,
    NODES,
    PODS,
    Resource,
)
from mooring.plugins.catalogue import make_registry

Plain = dict[str, Any]
LIVE = 40  # one-offs there are at a time
NODES_LIVE = 10
NODE_EVERY = 25  # pods: then a node comes and another goes
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
POD_GROUPS = Resource("scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup")


def meta(name: str, namespace: str = "", **more: Any) -> Plain:
    return {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}", **more}


def a_node(number: int) -> Plain:
    """A node of an autoscaled cluster: nearly all it says is its own."""
    name = f"node-{number}"
    has = {"cpu": "64", "memory": "256Gi", "pods": "500", f"own.io/of-{number}": "1"}
    own = {
        f"own.io/label-{number}": "x",
        HOSTNAME: name,
        ZONE: f"zone-{number % 3}",
        "pool": f"pool-{number}",
    }
    return {
        "metadata": meta(name, labels=own, annotations={"own": name}),
        "spec": {"taints": [{"key": f"own-{number}", "value": name, "effect": "PreferNoSchedule"}]},
        "status": {
            "allocatable": has,
            "capacity": has,
            "images": [{"names": [f"own:{number}", "shared:1"], "sizeBytes": 10**9 + number}],
        },
    }


def a_pod(name: str, namespace: str = "default", **spec: Any) -> Plain:
    labels, notes = spec.pop("labels", {"job": name}), spec.pop("annotations", {})
    owners = spec.pop("owners", [])
    container = {"name": "main", "image": spec.pop("image", "shared:1")}
    container["resources"] = {"requests": {"cpu": "10m", "memory": "1Mi", **spec.pop("requests", {})}}
    container["ports"] = spec.pop("ports", [])
    return {
        "metadata": meta(
            name,
            namespace,
            labels=labels,
            annotations=notes,
            ownerReferences=owners,
            creationTimestamp="2026-01-01T00:00:00Z",
        ),
        "spec": {"schedulerName": "default-scheduler", "containers": [container], **spec},
        "status": {"phase": "Pending"},
    }


def own_labels(i: str) -> Iterator[tuple[Resource, Plain]]:
    yield PODS, a_pod(f"labels-{i}", labels={"controller-uid": i, f"own-{i}": "x"})


def own_namespace(i: str) -> Iterator[tuple[Resource, Plain]]:
    yield BY_KIND["Namespace"], {"metadata": meta(f"ns-{i}", labels={"team": i})}
    yield PODS, a_pod("pod", f"ns-{i}", labels={"app": i})


def own_selector(i: str) -> Iterator[tuple[Resource, Plain]]:
    term = {"matchExpressions": [{"key": f"pool-{i}", "operator": "DoesNotExist"}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    yield PODS, a_pod(f"selector-{i}", affinity={"nodeAffinity": required})
    yield PODS, a_pod(f"selects-{i}", nodeSelector={f"nobody-{i}": "x"})


def own_preference(i: str) -> Iterator[tuple[Resource, Plain]]:
    term = {"matchExpressions": [{"key": "pool", "operator": "In", "values": [f"pool-{i}"]}]}
    preferred = {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 3, "preference": term}]}
    yield PODS, a_pod(f"prefers-{i}", affinity={"nodeAffinity": preferred})


def own_affinity(i: str) -> Iterator[tuple[Resource, Plain]]:
    def term(key: str) -> Plain:
        return {"topologyKey": key, "labelSelector": {"matchLabels": {"job": f"affinity-{i}"}}}

    yield (
        PODS,
        a_pod(
            f"affinity-{i}",
            affinity={
                "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term(ZONE)]},
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [term(HOSTNAME)],
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 7, "podAffinityTerm": term(f"own-key-{i}")}
                    ],
                },
            },
        ),
    )


def own_namespaced_affinity(i: str) -> Iterator[tuple[Resource, Plain]]:
    term = {
        "topologyKey": ZONE,
        "labelSelector": {"matchExpressions": [{"key": f"own-{i}", "operator": "Exists"}]},
        "namespaceSelector": {"matchLabels": {"team": i}},
    }
    anti = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    yield PODS, a_pod(f"elsewhere-{i}", affinity={"podAntiAffinity": anti})


def own_spread(i: str) -> Iterator[tuple[Resource, Plain]]:
    constraints = [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": when,
            "labelSelector": {"matchLabels": {"job": f"spread-{i}"}},
            "nodeTaintsPolicy": "Honor",
        }
        for key, when in (
            (ZONE, "DoNotSchedule"),
            (HOSTNAME, "ScheduleAnyway"),
            (f"key-{i}", "ScheduleAnyway"),
        )
    ]
    yield PODS, a_pod(f"spread-{i}", topologySpreadConstraints=constraints)


def own_tolerations(i: str) -> Iterator[tuple[Resource, Plain]]:
    tolerations = [{"key": f"own-{i}", "operator": "Equal", "value": i, "effect": "NoSchedule"}]
    yield PODS, a_pod(f"tolerates-{i}", tolerations=tolerations)


def own_image(i: str) -> Iterator[tuple[Resource, Plain]]:
    yield PODS, a_pod(f"image-{i}", image=f"registry.example/{i}:v{i}")


def own_resource(i: str) -> Iterator[tuple[Resource, Plain]]:
    """Fits nowhere. Another has its place already: nobody asked a scheduler."""
    yield PODS, a_pod(f"resource-{i}", requests={f"own.io/res-{i}": "1"})
    yield PODS, a_pod(f"taken-{i}", nodeName="node-0", requests={f"own.io/taken-{i}": "1"})


def own_amounts(i: str) -> Iterator[tuple[Resource, Plain]]:
    yield PODS, a_pod(f"amounts-{i}", requests={"memory": f"{int(i) + 2**20}"}, overhead={"cpu": "1m"})


def own_priority(i: str) -> Iterator[tuple[Resource, Plain]]:
    yield BY_KIND["PriorityClass"], {"metadata": meta(f"class-{i}"), "value": int(i)}
    yield PODS, a_pod(f"priority-{i}", priority=int(i), priorityClassName=f"class-{i}")


def own_port(i: str) -> Iterator[tuple[Resource, Plain]]:
    port = {"containerPort": 80, "hostPort": 1024 + int(i) % 60000, "hostIP": f"10.0.{int(i) % 250}.1"}
    yield PODS, a_pod(f"port-{i}", ports=[port])


def own_volume(i: str) -> Iterator[tuple[Resource, Plain]]:
    claim, volume, cls = f"claim-{i}", f"volume-{i}", f"class-{i}"
    amount = {"storage": "1Gi"}
    yield (
        BY_KIND["StorageClass"],
        {"metadata": meta(cls), "provisioner": "own.io", "volumeBindingMode": "Immediate"},
    )
    yield (
        BY_KIND["PersistentVolume"],
        {
            "metadata": meta(volume),
            "spec": {
                "capacity": amount,
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": cls,
                "csi": {"driver": "own.io", "volumeHandle": volume},
                "claimRef": {"namespace": "default", "name": claim, "uid": f"uid-default-{claim}"},
            },
            "status": {"phase": "Bound"},
        },
    )
    yield (
        BY_KIND["PersistentVolumeClaim"],
        {
            "metadata": meta(claim, "default", annotations={"pv.kubernetes.io/bind-completed": "yes"}),
            "spec": {
                "volumeName": volume,
                "storageClassName": cls,
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": amount},
            },
            "status": {"phase": "Bound"},
        },
    )
    yield PODS, a_pod(f"volume-{i}", volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": claim}}])
    missing = [{"name": "v", "persistentVolumeClaim": {"claimName": f"missing-{i}"}}]
    yield PODS, a_pod(f"no-volume-{i}", volumes=missing)
    disk = [{"name": "d", "gcePersistentDisk": {"pdName": f"disk-{i}"}}]
    yield PODS, a_pod(f"disk-{i}", volumes=disk)


def own_owner(i: str) -> Iterator[tuple[Resource, Plain]]:
    name = f"set-{i}"
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": f"u-{i}", "controller": True}
    selector = {"spec": {"selector": {"matchLabels": {"app": name}}}}
    yield BY_KIND["ReplicaSet"], {"metadata": meta(name, "default"), **selector}
    yield BY_KIND["Service"], {"metadata": meta(name, "default"), "spec": {"selector": {"app": name}}}
    yield PODS, a_pod(f"owned-{i}", labels={"app": name, "pod-template-hash": i}, owners=[owner])


def own_budget(i: str) -> Iterator[tuple[Resource, Plain]]:
    spec = {"selector": {"matchLabels": {"app": f"budget-{i}"}}}
    yield (
        BY_KIND["PodDisruptionBudget"],
        {"metadata": meta(f"pdb-{i}", "default"), "spec": spec, "status": {"disruptionsAllowed": 1}},
    )
    yield PODS, a_pod(f"budget-{i}", labels={"app": f"budget-{i}"}, priority=5)


def own_gang(i: str) -> Iterator[tuple[Resource, Plain]]:
    for pod in range(2):
        notes = {
            "gang.scheduling.koordinator.sh/name": f"gang-{i}",
            "gang.scheduling.koordinator.sh/min-available": "2",
        }
        yield PODS, a_pod(f"gang-{i}-{pod}", labels={"gang": i}, annotations=notes)


def own_pod_group(i: str) -> Iterator[tuple[Resource, Plain]]:
    yield POD_GROUPS, {"metadata": meta(f"group-{i}", "default"), "spec": {"minMember": 2}}
    for pod in range(2):
        yield PODS, a_pod(f"group-{i}-{pod}", labels={"scheduling.x-k8s.io/pod-group": f"group-{i}"})


def own_hopeless_gang(i: str) -> Iterator[tuple[Resource, Plain]]:
    notes = {
        "gang.scheduling.koordinator.sh/name": f"hopeless-{i}",
        "gang.scheduling.koordinator.sh/min-available": "3",
    }
    yield PODS, a_pod(f"hopeless-{i}", annotations=notes, requests={"cpu": "1"})


def own_preemptor(i: str) -> Iterator[tuple[Resource, Plain]]:
    """Fits nowhere, whoever goes; but it is looked."""
    yield PODS, a_pod(f"preemptor-{i}", priority=1000, requests={"cpu": "63"})


def own_nomination(i: str) -> Iterator[tuple[Resource, Plain]]:
    pod = a_pod(f"nominated-{i}", priority=int(i) % 1000, nodeSelector={"nobody": i})
    pod["status"]["nominatedNodeName"] = f"gone-{i}"
    yield PODS, pod


def own_gate(i: str) -> Iterator[tuple[Resource, Plain]]:
    yield PODS, a_pod(f"gated-{i}", schedulingGates=[{"name": f"own.io/{i}"}])


VARIETIES: tuple[Callable[[str], Iterator[tuple[Resource, Plain]]], ...] = (
    own_labels,
    own_namespace,
    own_selector,
    own_preference,
    own_affinity,
    own_namespaced_affinity,
    own_spread,
    own_tolerations,
    own_image,
    own_resource,
    own_amounts,
    own_priority,
    own_port,
    own_volume,
    own_owner,
    own_budget,
    own_gang,
    own_pod_group,
    own_hopeless_gang,
    own_preemptor,
    own_nomination,
    own_gate,
)


class OneOffs:
    """An engine through which one-offs pass."""

    def __init__(self) -> None:
        registry = make_registry()
        self.engine: Engine = make_engine(default_config(registry), registry)
        self.decoders = Decoders()
        self.placed = self.pods = self.nodes = 0
        self.now = 0.0
        self._readers: dict[Resource, Any] = {}
        self._there: deque[list[Event]] = deque()  # how each one-off goes again
        self._nodes: deque[Any] = deque()
        self._made = 0
        self._where: dict[str, Any] = {}
        self._add_node(0)  # it stays
        self._nodes.clear()
        for _ in range(NODES_LIVE):
            self._node_comes()

    def play(self, count: int, plain: int = 0) -> None:
        """So many pods come, and as many go: one after the other of all varieties, and after each so many
        that have nothing but names and labels of their own."""
        end, turn = self.pods + count, plain + 1
        while self.pods < end:
            special = VARIETIES[self._made // turn % len(VARIETIES)]
            self.one_off(own_labels if self._made % turn else special)
            if self._made % NODE_EVERY == 0:
                self._node_comes()
                self._node_goes()
                self._handle(Tick())

    def one_off(self, variety: Callable[[str], Iterator[tuple[Resource, Plain]]]) -> None:
        self._made += 1
        self.now += 0.1
        going: list[Event] = []
        for resource, plain in variety(str(self._made)):
            found = self._read(resource, plain)
            if resource is PODS:
                self.pods += 1
                self._handle(PodAdded(found))
                going.append(PodDeleted(found))
            else:
                self._handle(ObjectAdded(found))
                going.append(ObjectDeleted(found))
        self._there.append(going)
        self.schedule()
        if len(self._there) > LIVE:
            self._go(self._there.popleft())

    def schedule(self) -> None:
        while (decisions := self.engine.schedule(self.now)) is not None:
            self._perform(decisions)

    def all_go(self) -> None:
        """Nothing is left but the first nodes there were."""
        while self._there:
            self._go(self._there.popleft())
        while len(self._nodes) > NODES_LIVE:
            self._node_goes()
        self.now += 1000.0
        self._handle(Tick())
        self.schedule()

    def _go(self, going: list[Event]) -> None:
        for event in going:
            if isinstance(event, PodDeleted):
                event = PodDeleted(self._where.pop(event.pod.metadata.uid, event.pod))
            self._handle(event)

    def _handle(self, event: Event) -> None:
        self._perform(self.engine.handle(event, self.now))

    def _perform(self, decisions: Any) -> None:
        for each in decisions:
            if isinstance(each, Bind):
                self.placed += 1
                bound = self._where[each.pod.metadata.uid] = each.pod.on_node(each.node)
                self._handle(Bound(each.pod, each.node))
                self._handle(PodChanged(bound))

    def _node_comes(self) -> None:
        self.nodes += 1
        self._add_node(self.nodes)

    def _add_node(self, number: int) -> None:
        node = self._read(NODES, a_node(number))
        self._nodes.append(node)
        self._handle(NodeAdded(node))

    def _node_goes(self) -> None:
        """With the pods on it, some time after."""
        self._handle(NodeDeleted(self._nodes.popleft()))

    def _read(self, resource: Resource, plain: Plain) -> Any:
        if resource not in self._readers:
            self._readers[resource] = self.decoders.of(resource)
        return self._readers[resource](msgspec.Raw(msgspec.json.encode(plain)))
