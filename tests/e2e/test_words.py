"""Why pods wait, in kube-scheduler's very words: both schedulers are asked about the same pods."""

from __future__ import annotations

import json
from typing import Any

from e2e.api import Object
from e2e.cluster import Cluster
from e2e.nodes import HOSTNAME, node
from e2e.scheduler import Scheduler, StartScheduler
from e2e.storage import claim, make_available, storage_class, using, volume
from e2e.waiting import wait_for
from e2e.workloads import pod, priority_class

IN_EVENTS = ("type", "reason", "action", "note", "reportingController")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ZONE = "topology.kubernetes.io/zone"
LOOKUP_ERROR = ". not found"  # kube-scheduler's slip: Mooring says what preemption has found instead
NOTHING_TO_GAIN = (
    "no new claims to deallocate, preemption: 0/3 nodes are available: "
    "3 Preemption is not helpful for scheduling."
)


def test_what_is_written_about_a_pod_that_fits_nowhere(
    cluster: Cluster, start_mooring: StartScheduler
) -> None:
    cluster.add_nodes(3)
    start_mooring()
    cluster.create_pods(pod("huge", cpu="64"))
    told = cluster.wait_unschedulable("huge")
    text = f"0/3 nodes are available: 3 Insufficient cpu. {NOTHING_TO_GAIN}"
    condition = dict(told.condition())
    assert condition.pop("lastTransitionTime")
    assert condition == {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": text,
        "lastProbeTime": None,
        "observedGeneration": 1,
    }
    (event,) = wait_for(lambda: cluster.events("huge"), saying="an event")
    said = {key: event[key] for key in ("type", "reason", "action", "note", "reportingController")}
    assert said == {
        "type": "Warning",
        "reason": "FailedScheduling",
        "action": "Scheduling",
        "note": text,
        "reportingController": "default-scheduler",
    }
    about = dict(event["regarding"])
    assert about.pop("resourceVersion")
    expected = {"namespace": cluster.namespace, "name": "huge", "uid": told.uid}
    assert about == {"apiVersion": "v1", "kind": "Pod", **expected}


def test_a_cluster_without_nodes(
    cluster: Cluster, start_mooring: StartScheduler, start_kube_scheduler: StartScheduler
) -> None:
    words = compared(cluster, start_mooring, start_kube_scheduler, [pod("alone")])
    assert words["alone"]["message"] == "no nodes available to schedule pods"


def test_filters(
    cluster: Cluster, start_mooring: StartScheduler, start_kube_scheduler: StartScheduler
) -> None:
    cluster.create_nodes(
        [
            node("big", cpu=8, memory="8Gi", labels={ZONE: "a", "disk": "ssd"}),
            node("small", cpu=1, memory="1Gi", labels={ZONE: "b"}),
            node("tainted", cpu=8, memory="8Gi", taints=["team=blue:NoSchedule"], labels={ZONE: "c"}),
            node("closed", cpu=8, memory="8Gi", unschedulable=True, labels={"disk": "ssd"}),
            node("crowded", pods=0),
        ]
    )
    cluster.wait_ready(["big", "small", "tainted", "closed", "crowded"])
    cluster.apply(priority_class("polite", 10, "Never"))
    for name in ("big", "small"):
        cluster.create_pods(
            pod(f"on-{name}", nodeName=name, ports=(8080,), labels={"app": "web"}, **avoiding("loner"))
        )
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["nowhere"]}]}]}}}  # fmt: skip
    words = compared(
        cluster,
        start_mooring,
        start_kube_scheduler,
        [
            pod("cpu", cpu="7950m"),
            pod("both", cpu="64", memory="64Gi"),
            pod("selector", nodeSelector={"disk": "tape"}),
            pod("port", ports=(8080,)),
            pod("extended", extra={"example.com/gpu": "1"}),
            pod("pinned", affinity=affinity),
            pod("together", **near("nobody")),
            pod("apart", **avoiding("web")),
            pod("loner", labels={"app": "loner"}),
            pod("spread", labels={"app": "web"}, nodeSelector={"disk": "ssd"}, **spread("rack")),
            pod("never", cpu="64", priorityClassName="polite"),
            pod("gated", schedulingGates=[{"name": "example.com/wait"}]),
        ],
    )
    assert words["gated"]["reason"] == "SchedulingGated"
    assert words["selector"]["message"].startswith("0/5 nodes are available: ")


def test_volumes(
    cluster: Cluster, start_mooring: StartScheduler, start_kube_scheduler: StartScheduler
) -> None:
    cluster.create_nodes([node("node-0", labels={ZONE: "a"}), node("node-1", labels={ZONE: "b"})])
    cluster.wait_ready(["node-0", "node-1"])
    delayed, at_once, name = f"{cluster.namespace}-later", f"{cluster.namespace}-now", cluster.namespace
    once_only = ["ReadWriteOncePod"]
    cluster.apply(storage_class(delayed), storage_class(at_once, delayed=False))
    make_available(
        cluster,
        volume(f"{name}-zoned", at_once, labels={ZONE: "c"}),
        volume(f"{name}-local", at_once, node="node-2"),
        volume(f"{name}-alone", at_once, modes=once_only),
    )
    cluster.apply(
        claim("zoned", at_once, bound=f"{name}-zoned"),
        claim("local", at_once, bound=f"{name}-local"),
        claim("alone", at_once, bound=f"{name}-alone", modes=once_only),
        claim("unmet", at_once, size="9Gi"),
        claim("nothing", delayed, size="9Gi"),
    )
    claims = f"/api/v1/namespaces/{name}/persistentvolumeclaims"
    for each in ("zoned", "local", "alone"):
        wait_for(lambda each=each: cluster.api.get(f"{claims}/{each}")["status"]["phase"] == "Bound")
    cluster.create_pods(pod("owner", nodeName="node-0", volumes=using("alone")))
    words = compared(
        cluster,
        start_mooring,
        start_kube_scheduler,
        [pod(f"uses-{each}", volumes=using(each))
         for each in ("zoned", "local", "alone", "unmet", "nothing", "missing")],
    )  # fmt: skip
    texts = {name: said["message"] for name, said in words.items()}
    assert texts["uses-nothing"].startswith(
        "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind. "
    )
    assert texts["uses-unmet"].startswith(
        "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims. "
    )
    assert texts["uses-missing"].startswith(
        '0/2 nodes are available: persistentvolumeclaim "missing" not found. '
    )


def compared(
    cluster: Cluster, start_mooring: StartScheduler, start_kube_scheduler: StartScheduler, pods: list[Object]
) -> dict[str, Object]:
    """What Mooring says about these pods, which is what kube-scheduler says about them."""
    expected, said = (said_by(cluster, start(), pods) for start in (start_kube_scheduler, start_mooring))
    other = {
        name: (said[name], expected[name]) for name in names_of(pods) if not same(said[name], expected[name])
    }
    assert not other, json.dumps(other, indent=1)
    return said


def same(said: Object, expected: Object) -> bool:
    """Equal, or kube-scheduler has slipped after it turned a pod down for all nodes at once."""
    if not expected["message"].endswith(LOOKUP_ERROR):
        return said == expected
    why = expected["message"].removesuffix(LOOKUP_ERROR)
    return all(each["message"].startswith(f"{why}. ") for each in (said, expected)) and all(
        said[key] == expected[key] for key in ("type", "status", "reason", "observedGeneration", "about")
    )


def names_of(pods: list[Object]) -> list[str]:
    return [each["metadata"]["name"] for each in pods]


def said_by(cluster: Cluster, scheduler: Scheduler, pods: list[Object]) -> dict[str, Object]:
    """What a scheduler writes into each pod's status and into the Event about it. Nothing of it stays."""
    names = names_of(pods)
    cluster.create_pods(*pods)
    said = {
        name: wait_for(lambda name=name: words(cluster, name), saying=f"word of {name}") for name in names
    }
    scheduler.stop()
    for name in names:
        cluster.api.delete(f"{cluster.pods_path}/{name}", grace_seconds=0)
    cluster.api.send("DELETE", f"/apis/events.k8s.io/v1/namespaces/{cluster.namespace}/events", {})
    return said


def words(cluster: Cluster, name: str) -> Object:
    condition = dict(cluster.pod(name).condition())
    events = [event for event in cluster.events(name) if event["reason"] == "FailedScheduling"]
    if not condition or (not events and condition["reason"] != "SchedulingGated"):
        return {}
    del condition["lastTransitionTime"]
    event = {key: value for key, value in events[0].items() if key in IN_EVENTS} if events else {}
    return {**condition, "event": event, "about": sorted(events[0]["regarding"]) if events else []}


def near(app: str) -> dict[str, Any]:
    return {"affinity": {"podAffinity": {REQUIRED: [_term(app)]}}}


def avoiding(app: str) -> dict[str, Any]:
    return {"affinity": {"podAntiAffinity": {REQUIRED: [_term(app)]}}}


def _term(app: str) -> Object:
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOSTNAME}


def spread(key: str) -> dict[str, Any]:
    wanted = {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**wanted, "labelSelector": {"matchLabels": {"app": "web"}}}]}
