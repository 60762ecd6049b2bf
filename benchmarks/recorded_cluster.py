"""A large cluster as an API server would list it: JSON of the size and variety of real objects.

Pods of one workload share their template and differ in what differs in life: name, uid, node, times,
addresses, container ids, and the service account volume, whose name is random and stands in every
container's mounts. One pod in ten is a DaemonSet's, whose affinity names its node. Nodes carry what a
kubelet reports. Lists are in the order of namespaces and names, in which an API server keeps its objects.
Everything is made from a seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec

NAMESPACES = 40
ZONES = 6
IMAGES_PER_NODE = 8
CREATED = "2026-03-{:02d}T{:02d}:{:02d}:{:02d}Z"

encode = msgspec.json.encode
Plain = dict[str, Any]


class RecordedCluster:
    """Nodes, pods and the workloads they belong to; each list is made anew when it is asked for."""

    def __init__(self, nodes: int, pods: int, classes: int, seed: int = 7) -> None:
        self.nodes, self.pods, self.classes = nodes, pods, classes
        self._seed = seed

    def items(self, path: str) -> Iterator[bytes]:
        """The objects a path lists, as JSON; nothing for kinds this cluster has none of."""
        lists = {
            "/api/v1/pods": self._pods,
            "/api/v1/nodes": self._nodes,
            "/api/v1/namespaces": self._namespaces,
            "/api/v1/services": self._services,
            "/apis/apps/v1/replicasets": self._replica_sets,
            "/apis/storage.k8s.io/v1/csinodes": self._csi_nodes,
            "/apis/policy/v1/poddisruptionbudgets": self._budgets,
        }
        made = lists.get(path)
        return map(encode, sorted(made(random.Random(f"{self._seed}{path}")), key=_key)) if made else iter(())

    def _nodes(self, rng: random.Random) -> Iterator[Plain]:
        for number in range(self.nodes):
            yield _node(number, rng)

    def _pods(self, rng: random.Random) -> Iterator[Plain]:
        for number in range(self.pods):
            yield _pod(number % self.classes, number // 10 % self.nodes, number, rng)

    def _namespaces(self, rng: random.Random) -> Iterator[Plain]:
        for number in range(NAMESPACES):
            name = f"team-{number}"
            labels = {"kubernetes.io/metadata.name": name, "tier": "gold" if number % 3 else "silver"}
            yield {"metadata": _meta(name, number, rng, labels), "status": {"phase": "Active"}}

    def _services(self, rng: random.Random) -> Iterator[Plain]:
        for number in range(self.classes):
            meta = _meta(f"app-{number}", number, rng, {"app": f"app-{number}"}, _namespace(number))
            ports = [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}]
            yield {"metadata": meta, "spec": {"selector": {"app": f"app-{number}"}, "ports": ports}}

    def _replica_sets(self, rng: random.Random) -> Iterator[Plain]:
        """Of each Deployment the current one and two older, which hold a template as well."""
        for number in range(self.classes):
            for revision in range(3):
                labels = _labels(number)
                name = f"app-{number}-old{revision}" if revision else _owner_name(number)
                meta = _meta(name, number, rng, labels, _namespace(number))
                template = {"metadata": {"labels": labels}, "spec": _template(number)}
                spec = {"replicas": 0 if revision else 100, "selector": {"matchLabels": labels}}
                yield {"metadata": meta, "spec": {**spec, "template": template}, "status": {"replicas": 0}}

    def _csi_nodes(self, rng: random.Random) -> Iterator[Plain]:
        for number in range(self.nodes):
            driver = {"name": "ebs.csi.aws.com", "nodeID": f"i-{number:017x}", "allocatable": {"count": 25}}
            keys = {"topologyKeys": ["topology.ebs.csi.aws.com/zone"]}
            spec = {"drivers": [{**driver, **keys}]}
            yield {"metadata": _meta(_node_name(number), number, rng), "spec": spec}

    def _budgets(self, rng: random.Random) -> Iterator[Plain]:
        for number in range(0, self.classes, 5):
            meta = _meta(f"app-{number}", number, rng, {}, _namespace(number))
            selector = {"matchLabels": {"app": f"app-{number}"}}
            status = {"disruptionsAllowed": 1, "currentHealthy": 100, "expectedPods": 100}
            yield {"metadata": meta, "spec": {"minAvailable": 1, "selector": selector}, "status": status}


def _key(found: Plain) -> tuple[str, str]:
    meta = found["metadata"]
    return meta.get("namespace", ""), meta["name"]


def _pod(kind: int, node: int, number: int, rng: random.Random) -> Plain:
    suffix = _word(rng, 5)
    owner = _owner_name(kind)
    meta = _meta(f"{owner}-{suffix}", number, rng, _labels(kind), _namespace(kind))
    meta["generateName"] = f"{owner}-"
    meta["annotations"] = {
        "prometheus.io/scrape": "true",
        "checksum/config": f"{kind:064x}",
        "cni.projectcalico.org/podIP": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}/32",
    }
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": _uid(kind + 10_000_000)}
    meta["ownerReferences"] = [{**reference, "controller": True, "blockOwnerDeletion": True}]
    meta["managedFields"] = _managed()
    token = f"kube-api-access-{_word(rng, 5)}"
    spec = _template(kind)
    for container in spec["containers"]:
        mount = {"name": token, "readOnly": True}
        mount["mountPath"] = "/var/run/secrets/kubernetes.io/serviceaccount"
        container["volumeMounts"] = [*container["volumeMounts"], mount]
    spec["nodeName"] = _node_name(node)
    if number % 10 == 9:
        spec["affinity"] = _daemon(_node_name(node))
    spec["volumes"] = [*spec["volumes"], _token_volume(token)]
    status = _pod_status(spec, number, rng)
    return {"metadata": meta, "spec": spec, "status": status}


def _template(kind: int) -> Plain:
    """The part of a pod's spec that all pods of a workload share."""
    requests = {"cpu": f"{10 + 10 * (kind % 20)}m", "memory": f"{32 + 16 * (kind % 16)}Mi"}
    app: Plain = {
        "name": "app",
        "image": f"registry.example.com/team-{kind % NAMESPACES}/app-{kind}:1.{kind % 9}.0",
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "resources": {"requests": requests, "limits": {"memory": requests["memory"]}},
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "http"}, "periodSeconds": 10},
        "volumeMounts": [{"name": "config", "mountPath": "/etc/app"}],
        "imagePullPolicy": "IfNotPresent",
    }
    spec: Plain = {
        "volumes": [{"name": "config", "configMap": {"name": f"app-{kind}", "defaultMode": 420}}],
        "containers": [app],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": "default",
        "schedulerName": "default-scheduler",
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "enableServiceLinks": True,
        "tolerations": [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        ],
    }
    if kind % 4 == 0:
        spec["affinity"] = _apart(kind)
    if kind % 3 == 0:
        spec["topologySpreadConstraints"] = [_spread(kind)]
    if kind % 7 == 0:
        spec["nodeSelector"] = {"kubernetes.io/os": "linux"}
    return spec


def _daemon(node_name: str) -> Plain:
    field = {"key": "metadata.name", "operator": "In", "values": [node_name]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _apart(kind: int) -> Plain:
    term = {"labelSelector": {"matchLabels": {"app": f"app-{kind}"}}, "topologyKey": "kubernetes.io/hostname"}
    weighted = [{"weight": 100, "podAffinityTerm": term}]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": weighted}}


def _spread(kind: int) -> Plain:
    return {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": f"app-{kind}"}},
    }


def _token_volume(name: str) -> Plain:
    token = {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
    roots = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        token,
        {"configMap": roots},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]
    return {"name": name, "projected": {"defaultMode": 420, "sources": sources}}


def _pod_status(spec: Plain, number: int, rng: random.Random) -> Plain:
    when = _time(rng)
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    return {
        "phase": "Running",
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": when} for kind in kinds],
        "hostIP": "10.200.0.1",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": when,
        "containerStatuses": [
            {
                "name": container["name"],
                "state": {"running": {"startedAt": when}},
                "ready": True,
                "restartCount": 0,
                "image": container["image"],
                "imageID": f"{container['image']}@sha256:{number % 500:064x}",
                "containerID": f"containerd://{rng.getrandbits(256):064x}",
                "started": True,
                "allocatedResources": container["resources"]["requests"],
                "resources": container["resources"],
            }
            for container in spec["containers"]
        ],
        "qosClass": "Burstable",
    }


def _node(number: int, rng: random.Random) -> Plain:
    name = _node_name(number)
    zone = f"eu-west-{number % ZONES}"
    labels = {
        "beta.kubernetes.io/arch": "amd64",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": name,
        "topology.kubernetes.io/region": "eu-west",
        "topology.kubernetes.io/zone": zone,
        "node.kubernetes.io/instance-type": f"m6i.{number % 5}xlarge",
    }
    meta = _meta(name, number, rng, labels)
    meta["annotations"] = {
        "csi.volume.kubernetes.io/nodeid": f'{{"ebs.csi.aws.com":"i-{number:017x}"}}',
        "volumes.kubernetes.io/controller-managed-attach-detach": "true",
    }
    meta["managedFields"] = _managed()
    kinds = ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    room = {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "200Gi", "pods": "110", "hugepages-2Mi": "0"}
    status = {
        "capacity": room,
        "allocatable": {**room, "cpu": "15890m", "memory": "61Gi"},
        "conditions": [
            {
                "type": kind,
                "status": "True" if kind == "Ready" else "False",
                "lastHeartbeatTime": _time(rng),
                "lastTransitionTime": _time(rng),
                "reason": f"Kubelet{kind}",
                "message": "kubelet is posting its state",
            }
            for kind in kinds
        ],
        "addresses": [{"type": "InternalIP", "address": f"10.201.{number >> 8}.{number & 255}"}],
        "nodeInfo": {
            "kubeletVersion": "v1.36.0",
            "bootID": _uid(number),
            "osImage": "Linux",
            "architecture": "amd64",
        },
        "images": [_image(rng.randrange(400)) for _ in range(IMAGES_PER_NODE)],
    }
    spec = {
        "podCIDR": f"10.{number >> 8}.{number & 255}.0/24",
        "providerID": f"aws:///{zone}/i-{number:017x}",
    }
    return {"metadata": meta, "spec": spec, "status": status}


def _image(number: int) -> Plain:
    name = f"registry.example.com/team-{number % NAMESPACES}/app-{number}"
    return {"names": [f"{name}@sha256:{number:064x}", f"{name}:1.0"], "sizeBytes": 10_000_000 + number}


def _meta(
    name: str, number: int, rng: random.Random, labels: dict[str, str] | None = None, namespace: str = ""
) -> Plain:
    meta: Plain = {
        "name": name,
        "uid": _uid(rng.getrandbits(100)),
        "resourceVersion": str(1_000_000 + number),
    }
    if namespace:
        meta["namespace"] = namespace
    return {**meta, "creationTimestamp": _time(rng), "labels": labels or {}}


def _managed() -> list[Plain]:
    fields = {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {"f:priority": {}}}
    entry = {"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1"}
    return [{**entry, "time": "2026-03-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields}]


def _labels(kind: int) -> dict[str, str]:
    return {"app": f"app-{kind}", "pod-template-hash": f"{kind:010x}", "team": f"team-{kind % NAMESPACES}"}


def _namespace(kind: int) -> str:
    return f"team-{kind % NAMESPACES}"


def _owner_name(kind: int) -> str:
    return f"app-{kind}-{kind:010x}"


def _node_name(number: int) -> str:
    return f"ip-10-201-{number >> 8}-{number & 255}.eu-west.compute.internal"


def _uid(number: int) -> str:
    text = f"{number:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _time(rng: random.Random) -> str:
    return CREATED.format(rng.randrange(1, 29), rng.randrange(24), rng.randrange(60), rng.randrange(60))


def _word(rng: random.Random, length: int) -> str:
    return "".join(rng.choices("bcdfghjklmnpqrstvwxz2456789", k=length))
