"""Pods off the wire: nothing placement sees is lost, and what is equal is one object."""

from __future__ import annotations

import json
import random
import tracemalloc
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.kube.decode.decoders import Decoders
from mooring.kube.decode.pod_statuses import READ_CONDITIONS, SCHEDULED
from mooring.kube.decode.wire_pods import VOLUME_SOURCES
from mooring.model.objects import Pod
from mooring.model.requests import bound_request

Plain = dict[str, Any]


def wire_pod(number: int = 0, **spec: Any) -> Plain:
    """A running pod as an API server shows it: much about it is of no interest, and much is its own."""
    token = f"kube-api-access-{number:05x}"
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "64Mi"}}
    container = {
        "name": "app",
        "image": "app:1",
        "env": [{"name": "NUMBER", "value": str(number)}],
        "ports": [{"containerPort": 80, "hostPort": 8080, "protocol": "TCP"}],
        "resources": resources,
        "volumeMounts": [{"name": token, "mountPath": "/var/run/secrets"}],
    }
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "o", "controller": True}
    return {
        "metadata": {
            "name": f"web-1-{number}",
            "generateName": "web-1-",
            "namespace": "default",
            "uid": f"uid-{number}",
            "resourceVersion": str(1000 + number),
            "labels": {"app": "web", "pod-template-hash": "1"},
            "annotations": {"cni.projectcalico.org/podIP": f"10.0.0.{number}/32", "team": "blue"},
            "ownerReferences": [owner],
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [{"manager": "kubelet", "time": f"2026-01-01T00:00:{number % 60:02d}Z"}],
        },
        "spec": {
            "nodeName": f"node-{number % 3}",
            "schedulerName": "default-scheduler",
            "priority": 5,
            "containers": [container],
            "volumes": [
                {"name": "scratch", "emptyDir": {}},
                {"name": token, "projected": {"sources": []}},
                {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
            ],
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}],
            **spec,
        },
        "status": {
            "phase": "Running",
            "startTime": f"2026-01-01T00:00:{number % 60:02d}Z",
            "podIP": f"10.0.0.{number}",
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": str(number)}],
            "containerStatuses": [
                {
                    "name": "app",
                    "containerID": f"containerd://{number}",
                    "resources": resources,
                    "allocatedResources": resources["requests"],
                }
            ],
        },
    }


def encode(found: Plain) -> bytes:
    return json.dumps(found).encode()


def decoded(*found: Plain) -> list[Pod]:
    decoder = Decoders().pod
    return [decoder(encode(each)) for each in found]


def test_what_placement_sees_is_there() -> None:
    [pod] = decoded(wire_pod(7))
    meta = pod.metadata
    assert (meta.name, meta.generate_name, meta.namespace, meta.uid) == (
        "web-1-7",
        "web-1-",
        "default",
        "uid-7",
    )
    assert (meta.resource_version, meta.creation_timestamp) == ("1007", "2026-01-01T00:00:00Z")
    assert meta.annotations == {"team": "blue"}
    assert meta.owner_references[0].controller
    assert (pod.spec.node_name, pod.priority) == ("node-1", 5)
    assert pod.request.cpu_milli == 100
    assert pod.spec.host_ports == (("0.0.0.0", "TCP", 8080),)
    assert pod.spec.volumes == ({"name": "data", "persistentVolumeClaim": {"claimName": "data"}},)
    assert (pod.status.phase, pod.status.start_time) == ("Running", "2026-01-01T00:00:07Z")
    assert pod.status.conditions == ()
    assert pod.status.container_statuses == ()


def test_pods_of_a_workload_share_all_but_their_identity() -> None:
    *_, one, other = decoded(*map(wire_pod, range(5)))
    for field in ("containers", "tolerations", "volumes"):
        assert getattr(one.spec, field) is getattr(other.spec, field)
    assert one.spec.node_name != other.spec.node_name
    assert one.spec.__dict__ is other.spec.__dict__
    for field in ("labels", "annotations", "owner_references", "namespace", "generate_name"):
        assert getattr(one.metadata, field) is getattr(other.metadata, field)
    assert one.spec.request is other.spec.request


def test_the_order_of_keys_makes_no_difference() -> None:
    """Nor does null instead of nothing."""
    pods = [wire_pod(number, nodeName="") for number in range(6)]
    for found in pods[::2]:
        found["spec"] = dict(reversed(found["spec"].items())) | {"affinity": None, "overhead": None}
        found["metadata"]["labels"] = dict(reversed(found["metadata"]["labels"].items()))
        found["spec"]["containers"] = [dict(reversed(each.items())) for each in found["spec"]["containers"]]
    *_, one, other = decoded(*pods)
    assert one.spec is other.spec
    assert one.metadata.labels is other.metadata.labels


def test_what_a_node_differs_in_is_not_shared() -> None:
    """The specs of a DaemonSet's pods differ, what they run is the same."""
    *_, one, other = decoded(*map(on_one_node, range(4)))
    assert one.spec.affinity != other.spec.affinity
    assert one.spec.containers is other.spec.containers
    assert one.spec.request is other.spec.request
    assert one.spec.__dict__ is not other.spec.__dict__


def on_one_node(number: int, **spec: Any) -> Plain:
    """A pod of a DaemonSet, whose affinity names its node."""
    field = {"key": "metadata.name", "operator": "In", "values": [f"node-{number}"]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return wire_pod(number, affinity=affinity, **spec)


def test_a_resize_shows_in_what_the_pod_takes() -> None:
    plain, resized, refused = wire_pod(0), wire_pod(1), wire_pod(2)
    for found in (resized, refused):
        found["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "300m", "memory": "64Mi"}}
    refused["status"]["conditions"] = [
        {"type": "PodResizePending", "status": "True", "reason": "Infeasible", "message": "too much"}
    ]
    pods = decoded(plain, resized, refused, plain, resized)
    assert [bound_request(pod).cpu_milli for pod in pods] == [100, 300, 100, 100, 300]
    assert pods[1].status.container_statuses[0].allocated_resources == {"cpu": "100m", "memory": "64Mi"}


def test_the_same_status_means_a_resize_to_one_pod_and_none_to_another() -> None:
    """What is remembered of statuses goes with the containers, also where each pod has its own affinity."""
    pods = [on_one_node(number) for number in range(12)]
    for found in pods[::2]:
        found["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "50m", "memory": "64Mi"}}
    read = decoded(*pods)
    assert [bool(pod.status.container_statuses) for pod in read] == [True, False] * 6
    assert [bound_request(pod).cpu_milli for pod in read] == [100] * 12  # what is still in use counts


def test_only_conditions_that_placement_reads_are_kept() -> None:
    found = wire_pod(0)
    found["status"]["conditions"] = [
        {"type": "Ready", "status": "True"},
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"},
        {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"},
    ]
    kept = decoded(found)[0].status.conditions
    assert [each.type for each in kept] == ["PodScheduled", "DisruptionTarget"]
    assert kept[0].message == "0/3 nodes"
    found["status"]["conditions"][1]["status"] = "True"
    assert [each.type for each in decoded(found)[0].status.conditions] == ["DisruptionTarget"]


def test_an_amount_that_is_nonsense_is_left_for_the_engine_to_refuse() -> None:
    found = wire_pod(0)
    found["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "12 apples"
    assert decoded(found)[0].spec.containers[0].resources.requests["cpu"] == "12 apples"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"spec":{"nodeName":1}}', b'{"metadata":{"name":1}}'])
def test_what_is_no_pod_is_refused(body: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        Decoders().pod(body)


def test_a_pod_that_cannot_be_read_says_so_and_where_it_is() -> None:
    found = wire_pod(0)
    found["spec"] |= {"priority": "high", "nodeName": "n"}
    pod = decoded(found)[0]
    assert (pod.metadata.name, pod.spec.node_name) == (found["metadata"]["name"], "n")
    assert "$.spec.priority" in pod.spec.unreadable


def test_a_pod_takes_less_than_a_kilobyte() -> None:
    """Its JSON is several times as long. Measured: about 800 bytes."""
    wires = [encode(wire_pod(number)) for number in range(2000)]
    decoder = Decoders().pod
    kept = [decoder(wire) for wire in wires[:1000]]
    tracemalloc.start()
    kept += [decoder(wire) for wire in wires[1000:]]
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used / 1000 < 1000
    assert len(kept) == 2000


def test_what_never_repeats_is_not_remembered() -> None:
    decoder = Decoders().pod
    tracemalloc.start()
    for number in range(20_000):
        found = b'{"metadata":{"labels":{"job":"%d"},"annotations":{"n":"%d"}},"spec":{"priority":%d}}'
        decoder(found % (number, number, number))
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used < 20_000_000


# against the whole object read the plain way

words = st.sampled_from(["", "a", "b", "default-scheduler"])
amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", "x.io/gpu"]), st.sampled_from(["1", "250m", "3Gi"])
)
requirements = st.fixed_dictionaries({}, optional={"requests": amounts, "limits": amounts})
ports = st.lists(
    st.fixed_dictionaries({"containerPort": st.just(80)}, optional={"hostPort": st.integers(1, 3)})
)
containers = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["x", "y"])},
        optional={
            "image": words,
            "resources": requirements,
            "ports": st.none() | ports,
            "restartPolicy": st.sampled_from(["", "Always"]),
            "volumeMounts": st.lists(st.fixed_dictionaries({"name": st.uuids().map(str)}), max_size=1),
        },
    ),
    max_size=2,
    unique_by=lambda each: each["name"],
)
statuses = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from(["x", "y"])},
        optional={
            "resources": requirements,
            "allocatedResources": amounts,
            "containerID": st.uuids().map(str),
        },
    ),
    max_size=2,
    unique_by=lambda each: each["name"],
)
selectors = st.fixed_dictionaries({"matchLabels": st.dictionaries(words, words, max_size=2)})
terms = st.fixed_dictionaries({"topologyKey": words, "labelSelector": selectors})
affinities = st.fixed_dictionaries(
    {
        "podAntiAffinity": st.fixed_dictionaries(
            {"requiredDuringSchedulingIgnoredDuringExecution": st.lists(terms)}
        )
    }
)
volumes = st.lists(
    st.fixed_dictionaries({"name": words})
    .flatmap(
        lambda head: st.sampled_from(["persistentVolumeClaim", "rbd", "ephemeral", "secret", "emptyDir"]).map(
            lambda source: head | {source: {"pool": "p"}}
        )
    ),
    max_size=3,
)  # fmt: skip
specs = st.fixed_dictionaries(
    {},
    optional={
        "nodeName": words,
        "schedulerName": words,
        "priority": st.none() | st.integers(-5, 5),
        "nodeSelector": st.none() | st.dictionaries(words, words),
        "affinity": st.none() | affinities,
        "tolerations": st.none() | st.lists(st.fixed_dictionaries({"key": words}), max_size=2),
        "containers": containers,
        "initContainers": containers,
        "overhead": amounts,
        "resources": requirements,
        "volumes": volumes,
        "hostNetwork": st.booleans(),
        "schedulingGates": st.lists(st.fixed_dictionaries({"name": words}), max_size=2),
        "resourceClaims": st.lists(st.dictionaries(words, words), max_size=2),
        "terminationGracePeriodSeconds": st.none() | st.integers(0, 60),
    },
)
conditions = st.lists(
    st.fixed_dictionaries({"type": st.sampled_from(["Ready", SCHEDULED, *READ_CONDITIONS]), "status": words})
)
pod_statuses = st.fixed_dictionaries(
    {},
    optional={
        "phase": words,
        "startTime": st.none() | words,
        "nominatedNodeName": words,
        "conditions": conditions,
        "containerStatuses": statuses,
        "initContainerStatuses": statuses,
        "resources": requirements,
        "allocatedResources": amounts,
    },
)
metas = st.fixed_dictionaries(
    {"name": words, "uid": words},
    optional={
        "labels": st.dictionaries(words, words),
        "annotations": st.dictionaries(words, words),
        "deletionTimestamp": st.none() | words,
        "generation": st.integers(0, 9),
        "ownerReferences": st.lists(st.fixed_dictionaries({"kind": words, "controller": st.booleans()})),
    },
)
wire_pods = st.fixed_dictionaries({"metadata": metas, "spec": specs, "status": pod_statuses})


def shuffled(found: Any, rng: random.Random) -> Any:
    if isinstance(found, dict):
        keys = list(found)
        rng.shuffle(keys)
        return {key: shuffled(found[key], rng) for key in keys}
    return [shuffled(each, rng) for each in found] if isinstance(found, list) else found


def without_nulls(found: Any) -> Any:
    if isinstance(found, dict):
        return {key: without_nulls(value) for key, value in found.items() if value is not None}
    return [without_nulls(each) for each in found] if isinstance(found, list) else found


def as_seen_by_placement(found: Plain) -> Pod:
    """The pod read the plain way, without what nothing reads."""
    pod = msgspec.convert(without_nulls(found), Pod)
    sources = set(VOLUME_SOURCES.values())
    kept = tuple(each for each in pod.spec.volumes if not sources.isdisjoint(each))
    spec = msgspec.structs.replace(pod.spec, volumes=kept)
    return msgspec.structs.replace(pod, spec=spec)


@settings(max_examples=100, deadline=None)
@given(st.lists(wire_pods, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_reads_what_the_plain_way_reads(found: list[Plain], rng: random.Random) -> None:
    decoder = Decoders().pod
    for each in found * 3:  # the second and third time from what is remembered
        pod, plain = decoder(encode(shuffled(each, rng))), as_seen_by_placement(each)
        assert pod.spec == plain.spec
        assert pod.metadata == plain.metadata
        assert bound_request(pod) == bound_request(plain)
        assert pod.status.phase == plain.status.phase
        assert pod.status.start_time == plain.status.start_time
        assert pod.status.nominated_node_name == plain.status.nominated_node_name
        assert [c for c in pod.status.conditions if c.type != SCHEDULED] == [
            c for c in plain.status.conditions if c.type in READ_CONDITIONS
        ]


@settings(max_examples=200, deadline=None)
@given(wire_pods, st.lists(wire_pods, max_size=4), st.randoms(use_true_random=False))
def test_no_pod_is_taken_for_the_one_before(first: Plain, others: list[Plain], rng: random.Random) -> None:
    """Pods that differ in a single thing follow each other; each comes often enough to be remembered."""
    found = [first]
    for other in others:
        part = rng.choice(["metadata", "spec", "status"])
        if other[part]:
            name = rng.choice(sorted(other[part]))
            found.append({**found[-1], part: {**found[-1][part], name: other[part][name]}})
    decoder = Decoders().pod
    for each in [each for each in found for _ in range(4)] + found:
        assert decoder(encode(each)) == Decoders().pod(encode(each))
