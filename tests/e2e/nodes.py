"""Node manifests: what a kubelet registers, status included. kwok keeps their leases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from e2e.api import Object

HOSTNAME = "kubernetes.io/hostname"


def node(
    name: str,
    *,
    cpu: str | int = "4",
    memory: str = "16Gi",
    pods: int = 110,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[str] = (),
    annotations: Mapping[str, str] | None = None,
    extra: Mapping[str, str] | None = None,
    unschedulable: bool = False,
    ready: bool = True,
) -> Object:
    """A node. Taints read `key=value:NoSchedule` or `key:NoExecute`; `extra` are further resources.

    One that is not `ready` stays so until its annotation `e2e/never-ready` goes.
    """
    resources = {"cpu": str(cpu), "memory": memory, "pods": str(pods), **(extra or {})}
    spec: Object = {"taints": [taint(text) for text in taints], "unschedulable": unschedulable}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {HOSTNAME: name, "kubernetes.io/os": "linux", **(labels or {})},
            "annotations": {**(annotations or {}), **({} if ready else {"e2e/never-ready": "true"})},
        },
        "spec": spec,
        "status": {"capacity": resources, "allocatable": resources, "conditions": [condition(ready)]},
    }


def condition(ready: bool) -> Object:
    said = "True" if ready else "False"
    return {"type": "Ready", "status": said, "reason": "Kubelet"}


def taint(text: str) -> Object:
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return {"key": key, "value": value, "effect": effect}


def is_ready(one: Object) -> bool:
    """Ready, and none of the taints left that a new node carries until the controllers have seen it."""
    conditions = one.get("status", {}).get("conditions", ())
    said = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    taints = one.get("spec", {}).get("taints", ())
    return said and not any(each["key"].startswith("node.kubernetes.io/not-ready") for each in taints)
