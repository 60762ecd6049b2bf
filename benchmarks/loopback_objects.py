"""Nodes and pods as an API server sends them, for `loopback_server.py`: the sizes are scheduler_perf's."""

from __future__ import annotations

import json
from typing import Any

MADE = "2026-01-01T00:00:00Z"
NAME, UID, VERSION, NODE = "<name>", "<uid>", "<version>", "<node>"
MOUNT = "kube-api-access-7x2lp"

Template = tuple[bytes, bytes]  # of a pod that waits, and of one that is bound


def node(number: int) -> bytes:
    """4 cpus, 32Gi, 110 pods; a zone of six; what a kubelet reports."""
    name, zone = f"node-{number}", f"zone-{number % 6}"
    room = {"cpu": "4", "memory": "32Gi", "pods": "110", "ephemeral-storage": "100Gi"}
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        "topology.kubernetes.io/zone": zone,
        "topology.kubernetes.io/region": "region-1",
    }
    ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": MADE, "lastTransitionTime": MADE}
    meta = {"name": name, "uid": f"node-uid-{number}", "resourceVersion": "1", "labels": labels}
    body = {
        "metadata": {**meta, "creationTimestamp": MADE},
        "spec": {"providerID": f"stub://{name}"},
        "status": {"allocatable": room, "capacity": room, "conditions": [ready]},
    }
    return _compact(body)


def pod_template() -> Template:
    waiting = _pod({"phase": "Pending", "qosClass": "Burstable"})
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": MADE}
    bound = _pod({"phase": "Pending", "conditions": [scheduled], "qosClass": "Burstable"})
    bound["spec"]["nodeName"] = NODE
    return _filled_in(waiting), _filled_in(bound)


def pod(template: Template, name: bytes, uid: bytes, version: bytes, node_name: bytes) -> bytes:
    """A pod of 100m and 500Mi. The template has its blanks in this order."""
    return template[1] % (name, uid, version, node_name) if node_name else template[0] % (name, uid, version)


def _pod(status: dict[str, Any]) -> dict[str, Any]:
    container = {
        "name": "pause",
        "image": "registry.k8s.io/pause:3.10.1",
        "ports": [{"containerPort": 80, "protocol": "TCP"}],
        "resources": {"requests": {"cpu": "100m", "memory": "500Mi"}},
        "volumeMounts": [
            {"name": MOUNT, "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
        ],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    gone = [
        {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute"}
        for what in ("not-ready", "unreachable")
    ]
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": NAME,
            "generateName": "pod-",
            "namespace": "default",
            "uid": UID,
            "resourceVersion": VERSION,
            "generation": 1,
            "creationTimestamp": MADE,
            "managedFields": [_managed()],
        },
        "spec": {
            "volumes": [{"name": MOUNT, "projected": _projected()}],
            "containers": [container],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "serviceAccount": "default",
            "securityContext": {},
            "schedulerName": "default-scheduler",
            "tolerations": [{**each, "tolerationSeconds": 300} for each in gone],
            "priority": 0,
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
        },
        "status": status,
    }


def _projected() -> dict[str, Any]:
    certificate = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    field = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}, "path": "namespace"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": certificate},
        {"downwardAPI": {"items": [field]}},
    ]
    return {"sources": sources, "defaultMode": 420}


def _managed() -> dict[str, Any]:
    of_container = {f"f:{name}": {} for name in ("image", "imagePullPolicy", "name", "resources")}
    of_spec = {
        "f:containers": {'k:{"name":"pause"}': {".": {}, **of_container}},
        **{f"f:{name}": {} for name in ("dnsPolicy", "enableServiceLinks", "restartPolicy", "schedulerName")},
    }
    fields = {"f:metadata": {"f:generateName": {}}, "f:spec": of_spec}
    manager = {"manager": "perf", "operation": "Update", "apiVersion": "v1", "time": MADE}
    return {**manager, "fieldsType": "FieldsV1", "fieldsV1": fields}


def _filled_in(body: dict[str, Any]) -> bytes:
    data = _compact(body)
    for blank in (NAME, UID, VERSION, NODE):
        data = data.replace(blank.encode(), b"%b")
    return data


def _compact(body: dict[str, Any]) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()
