"""Objects of every kind that is watched, with one or a few fields made wrong.

A base object has every field that is read. A mutation names a field by its path and puts something else
there: another type, an extreme number or quantity, a long, empty or strange string, nothing at all, too many
levels, the same thing twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import strategies as st

from mooring.kube.resources import BY_KIND, NODES, PODS, Resource
from one_offs import POD_GROUPS, meta

Plain = Any
Path = tuple[str | int, ...]

LONG = "x" * 70_000
BIG = 2**63
EXTREMES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31 - 1, -(2**31), 2**31, BIG - 1, -BIG, BIG, 2**64, 10**30,
    1.5, -0.0, 1e308,
    "", " ", "0", "-1", "8E", "9223372036854775807", "-9223372036854775808", "1e400", "0.0000000001",
    "1n", "5Xi",
    "9" * 400, "null", "true", "\x00", "\ud7ff\U0010ffff", "a/b/c", "/", "...", LONG,
    "2026-13-45T99:99:99Z", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "yesterday",
    [], {}, [None], [[]], [{}], {"": ""}, {"a": None}, {"a": {"b": {"c": []}}}, ["a", "a"],
    {"matchLabels": 5},
    {"kubernetes.io/metadata.name": ["x"]},
)  # fmt: skip
DEEP = msgspec.Raw(b"[" * 4000 + b"]" * 4000)


def _selector() -> Plain:
    expressions = [
        {"key": "tier", "operator": "In", "values": ["a", "b"]},
        {"key": "old", "operator": "DoesNotExist"},
    ]
    return {"matchLabels": {"app": "fuzz"}, "matchExpressions": expressions}


def _term() -> Plain:
    return {
        "topologyKey": "topology.kubernetes.io/zone",
        "labelSelector": _selector(),
        "namespaces": ["default"],
        "namespaceSelector": {"matchLabels": {"team": "a"}},
        "matchLabelKeys": ["pod-template-hash"],
    }


def _affinity() -> Plain:
    node = {"matchExpressions": [{"key": "pool", "operator": "Gt", "values": ["3"]}], "matchFields": []}
    pods = {
        "requiredDuringSchedulingIgnoredDuringExecution": [_term()],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "podAffinityTerm": _term()}],
    }
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [node]},
            "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 5, "preference": node}],
        },
        "podAffinity": pods,
        "podAntiAffinity": pods,
    }


def _container(name: str) -> Plain:
    return {
        "name": name,
        "image": "fuzz:1",
        "restartPolicy": "Always" if name == "side" else "",
        "resources": {"requests": {"cpu": "10m", "memory": "1Mi", "ex.io/fuzz": "1"}, "limits": {"cpu": "1"}},
        "ports": [{"containerPort": 80, "hostPort": 8080, "hostIP": "10.0.0.1", "protocol": "TCP"}],
    }


def a_pod(**spec: Any) -> Plain:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "fuzz", "uid": "o", "controller": True}
    notes = {
        "gang.scheduling.koordinator.sh/name": "fuzz",
        "gang.scheduling.koordinator.sh/min-available": "1",
        "gang.scheduling.koordinator.sh/waiting-time": "10s",
        "gang.scheduling.koordinator.sh/groups": '["default/fuzz"]',
        "gang.scheduling.koordinator.sh/network-topology-spec": '{"gatherStrategy": []}',
    }
    status = {"name": "main", "resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "1"}}
    return {
        "metadata": meta(
            "fuzz",
            "default",
            labels={"app": "fuzz", "tier": "a", "pod-template-hash": "h"},
            annotations=notes,
            ownerReferences=[owner],
            creationTimestamp="2026-01-01T00:00:00Z",
            resourceVersion="1",
            generation=1,
        ),
        "spec": {
            "schedulerName": "default-scheduler",
            "priority": 5,
            "priorityClassName": "high",
            "preemptionPolicy": "PreemptLowerPriority",
            "nodeSelector": {"pool": "5"},
            "affinity": _affinity(),
            "tolerations": [
                {
                    "key": "k",
                    "operator": "Equal",
                    "value": "v",
                    "effect": "NoSchedule",
                    "tolerationSeconds": 5,
                }
            ],
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "minDomains": 1,
                    "topologyKey": "kubernetes.io/hostname",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "labelSelector": _selector(),
                    "nodeAffinityPolicy": "Honor",
                    "nodeTaintsPolicy": "Honor",
                    "matchLabelKeys": ["pod-template-hash"],
                }
            ],
            "containers": [_container("main")],
            "initContainers": [_container("side"), _container("init")],
            "overhead": {"cpu": "1m"},
            "resources": {"requests": {"cpu": "100m"}},
            "volumes": [
                {"name": "a", "persistentVolumeClaim": {"claimName": "claim"}},
                {"name": "b", "ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}},
                {"name": "c", "csi": {"driver": "ex.io"}},
                {"name": "d", "gcePersistentDisk": {"pdName": "d", "readOnly": False}},
                {"name": "e", "rbd": {"monitors": ["m"], "pool": "p", "image": "i"}},
                {"name": "f", "iscsi": {"iqn": "q", "readOnly": True}},
            ],
            "schedulingGates": [],
            "schedulingGroup": {"podGroupName": "fuzz"},
            "workloadRef": {"name": "w", "podGroup": "g", "podGroupReplicaKey": "0"},
            "resourceClaims": [{"name": "r", "resourceClaimName": "c"}],
            "hostNetwork": False,
            "terminationGracePeriodSeconds": 30,
            **spec,
        },
        "status": {
            "phase": "Pending",
            "nominatedNodeName": "n-0",
            "startTime": "2026-01-01T00:00:00Z",
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
            "containerStatuses": [status],
            "initContainerStatuses": [status],
            "resources": {"requests": {"cpu": "1"}},
            "allocatedResources": {"cpu": "1"},
        },
    }


def a_node() -> Plain:
    has = {"cpu": "4", "memory": "8Gi", "pods": "110", "ephemeral-storage": "1Gi", "ex.io/fuzz": "2"}
    return {
        "metadata": meta(
            "n-fuzz",
            labels={"kubernetes.io/hostname": "n-fuzz", "topology.kubernetes.io/zone": "z", "pool": "5"},
            annotations={"a": "b"},
            resourceVersion="1",
        ),
        "spec": {
            "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}],
            "unschedulable": False,
            "providerID": "p",
        },
        "status": {
            "allocatable": has,
            "capacity": has,
            "images": [{"names": ["fuzz:1", "app:1"], "sizeBytes": 10**9}],
            "conditions": [{"type": "Ready", "status": "True"}],
            "declaredFeatures": ["f"],
        },
    }


def _claim() -> Plain:
    return {
        "metadata": meta("claim", "default", annotations={"volume.kubernetes.io/selected-node": "n-0"}),
        "spec": {
            "volumeName": "",
            "storageClassName": "fast",
            "accessModes": ["ReadWriteOnce"],
            "volumeMode": "Filesystem",
            "resources": {"requests": {"storage": "1Gi"}},
            "selector": _selector(),
        },
        "status": {"phase": "Pending"},
    }


def _volume() -> Plain:
    term = {"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n-0"]}]}
    return {
        "metadata": meta("volume", labels={"app": "fuzz", "tier": "a", "topology.kubernetes.io/zone": "z"}),
        "spec": {
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "volumeMode": "Filesystem",
            "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
            "claimRef": {"namespace": "default", "name": "other", "uid": "u"},
            "csi": {"driver": "ex.io", "volumeHandle": "h"},
            "gcePersistentDisk": {"pdName": "d"},
        },
        "status": {"phase": "Available"},
    }


def _bases() -> dict[Resource, Plain]:
    named = {
        "metadata": meta("fuzz", "default", annotations={"gang.scheduling.koordinator.sh/mode": "Strict"})
    }
    selecting = {**named, "spec": {"selector": _selector()}}
    sharing = {"apiGroup": "", "kind": "StorageClass", "name": "fast"}
    others: dict[str, Plain] = {
        "Namespace": {"metadata": meta("default", labels={"team": "a"})},
        "PersistentVolumeClaim": _claim(),
        "PersistentVolume": _volume(),
        "Service": {**named, "spec": {"selector": {"app": "fuzz"}}},
        "ReplicationController": {**named, "spec": {"selector": {"app": "fuzz"}}},
        "ReplicaSet": selecting,
        "StatefulSet": selecting,
        "PodDisruptionBudget": {
            **selecting,
            "status": {"disruptionsAllowed": 0, "disruptedPods": {"p": "2026-01-01T00:00:00Z"}},
        },
        "PriorityClass": {"metadata": meta("high"), "value": 5, "globalDefault": False},
        "StorageClass": {
            "metadata": meta("fast"),
            "provisioner": "ex.io",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowedTopologies": [{"matchLabelExpressions": [{"key": "z", "values": ["a"]}]}],
        },
        "CSINode": {
            "metadata": meta("n-0", annotations={"storage.alpha.kubernetes.io/migrated-plugins": "a,b"}),
            "spec": {
                "drivers": [
                    {"name": "ex.io", "nodeID": "n", "allocatable": {"count": 5}, "topologyKeys": ["z"]}
                ]
            },
        },
        "CSIDriver": {"metadata": meta("ex.io"), "spec": {"storageCapacity": True}},
        "CSIStorageCapacity": {
            "metadata": meta("c", "default"),
            "storageClassName": "fast",
            "nodeTopology": _selector(),
            "capacity": "5Gi",
            "maximumVolumeSize": "1Gi",
        },
        "VolumeAttachment": {
            "metadata": meta("va"),
            "spec": {"attacher": "ex.io", "nodeName": "n-0", "source": {"persistentVolumeName": "volume"}},
            "status": {"attached": True},
        },
        "ResourceClaim": {"metadata": meta("c", "default"), "spec": {"devices": sharing}},
    }
    spec = {
        "minMember": 1,
        "scheduleTimeoutSeconds": 10,
        "minTaskMember": {"a": 1},
        "subGroups": [{"name": "a"}],
    }
    groups = [
        POD_GROUPS,
        Resource("scheduling.sigs.k8s.io", "v1alpha1", "podgroups", "PodGroup"),
        Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"),
        Resource("scheduling.run.ai", "v2alpha2", "podgroups", "PodGroup"),
    ]
    kubernetes = {"schedulingPolicy": {"gang": {"minCount": 1}}, "disruptionMode": "PodGroup"}
    template = {"name": "t", "schedulingPolicy": {"gang": {"minCount": 1}}}
    return {
        PODS: a_pod(),
        NODES: a_node(),
        **{BY_KIND[kind]: base for kind, base in others.items()},
        **{group: {**named, "spec": spec, "status": {"phase": "Pending", "running": 1}} for group in groups},
        Resource("scheduling.k8s.io", "v1alpha2", "podgroups", "PodGroup"): {**named, "spec": kubernetes},
        Resource("scheduling.k8s.io", "v1alpha2", "workloads", "Workload"): {
            **named,
            "spec": {"podGroupTemplates": [template]},
        },
    }


BASES = _bases()


def paths(plain: Plain, way: Path = ()) -> Iterator[Path]:
    """The way to every field, entry and value."""
    inside = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    for key, value in inside:
        yield (*way, key)
        yield from paths(value, (*way, key))


IDENTITY = {("metadata", "name"), ("metadata", "namespace"), ("metadata", "uid"), ("metadata",)}
PATHS = {resource: sorted(set(paths(base)) - IDENTITY, key=repr) for resource, base in BASES.items()}


def changed(plain: Plain, way: Path, value: Any) -> Plain:
    """The same with another value at the end of the way; the value `TWICE` repeats an entry."""
    if not way:
        return value
    key, *rest = way
    if isinstance(plain, dict):
        found = plain.get(key, {})
        return {**plain, key: changed(found, tuple(rest), value)}
    if isinstance(plain, list) and isinstance(key, int) and key < len(plain):
        fresh = [*plain]
        fresh[key] = changed(plain[key], tuple(rest), value)
        return [*fresh, fresh[key]] if not rest else fresh
    return value


values = st.one_of(
    st.sampled_from(EXTREMES),
    st.just(DEEP),
    st.integers(),
    st.text(max_size=20),
    st.lists(st.integers() | st.text(max_size=5), max_size=3),
    st.dictionaries(st.text(max_size=5), st.none() | st.integers() | st.text(max_size=5), max_size=3),
)


@st.composite
def mutated(draw: st.DrawFn, resource: Resource) -> Plain:
    """An object with one to three wrong fields."""
    plain = BASES[resource]
    for _ in range(draw(st.integers(1, 3))):
        plain = changed(plain, draw(st.sampled_from(PATHS[resource])), draw(values))
    return plain


resources = st.sampled_from(list(BASES))
