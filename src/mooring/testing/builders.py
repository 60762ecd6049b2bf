"""Nodes and pods in a line: each call adds one thing and returns the builder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import msgspec

from mooring.model.objects import Node, Pod

Labels = Mapping[str, str] | None  # None selects nothing, no labels select everything

DEFAULT_NODE = {"cpu": "8", "memory": "32Gi", "pods": "110"}


class Builder:
    """What nodes and pods have in common."""

    _metadata: dict[str, Any]
    _spec: dict[str, Any]

    def spec(self, **fields: Any) -> Self:
        """Sets fields of the spec, written as in manifests: spec(hostNetwork=True)."""
        self._spec.update(fields)
        return self

    def label(self, key: str, value: str = "") -> Self:
        self._metadata["labels"][key] = value
        return self

    def annotation(self, key: str, value: str = "") -> Self:
        self._metadata["annotations"][key] = value
        return self


class NodeBuilder(Builder):
    """A node of 8 cpus, 32Gi and 110 pods, until told otherwise."""

    def __init__(self, name: str) -> None:
        self._metadata = {
            "name": name,
            "uid": f"node-{name}",
            "labels": {"kubernetes.io/hostname": name},
            "annotations": {},
        }
        self._spec = {"taints": []}
        self._allocatable: dict[str, Any] = dict(DEFAULT_NODE)
        self._images: list[dict[str, Any]] = []
        self._conditions: list[dict[str, Any]] = []

    def has(self, **amounts: Any) -> Self:
        """Sets resources: has(cpu=4, memory="8Gi", **{"nvidia.com/gpu": 8})."""
        self._allocatable.update(amounts)
        return self

    def without_label(self, key: str) -> Self:
        """Takes a label away: the host name too, which every node has to begin with."""
        self._metadata["labels"].pop(key, None)
        return self

    def zone(self, name: str) -> Self:
        return self.label("topology.kubernetes.io/zone", name)

    def taint(self, key: str, value: str = "", effect: str = "NoSchedule") -> Self:
        self._spec["taints"].append({"key": key, "value": value, "effect": effect})
        return self

    def cordoned(self) -> Self:
        self._spec["unschedulable"] = True
        return self.taint("node.kubernetes.io/unschedulable")

    def image(self, name: str, size_bytes: int) -> Self:
        self._images.append({"names": [name], "sizeBytes": size_bytes})
        return self

    def condition(self, kind: str, status: str = "True") -> Self:
        self._conditions.append({"type": kind, "status": status})
        return self

    def build(self) -> Node:
        status = {
            "allocatable": self._allocatable,
            "capacity": self._allocatable,
            "images": self._images,
            "conditions": self._conditions,
        }
        return msgspec.convert({"metadata": self._metadata, "spec": self._spec, "status": status}, Node)


class PodBuilder(Builder):
    """A pod with one container that asks for nothing, until told otherwise."""

    def __init__(self, name: str, namespace: str = "default") -> None:
        self._metadata = {
            "name": name,
            "namespace": namespace,
            "uid": f"pod-{namespace}-{name}",
            "labels": {},
            "annotations": {},
        }
        self._container: dict[str, Any] = {"name": "main", "image": "app:1", "ports": [], "resources": {}}
        self._spec = {"schedulerName": "default-scheduler", "tolerations": []}
        self._status: dict[str, Any] = {}

    def requests(self, **amounts: Any) -> Self:
        """Sets requests: requests(cpu=1, memory="1Gi", **{"nvidia.com/gpu": 1})."""
        self._container["resources"].setdefault("requests", {}).update(amounts)
        return self

    def limits(self, **amounts: Any) -> Self:
        self._container["resources"].setdefault("limits", {}).update(amounts)
        return self

    def priority(self, value: int) -> Self:
        self._spec["priority"] = value
        return self

    def tolerates(self, key: str = "", value: str = "", effect: str = "") -> Self:
        """Tolerates a taint: any value unless one is given, any effect unless one is given."""
        operator = "Equal" if value else "Exists"
        self._spec["tolerations"].append({"key": key, "operator": operator, "value": value, "effect": effect})
        return self

    def selects(self, key: str, value: str) -> Self:
        """Goes only to nodes with this label."""
        self._spec.setdefault("nodeSelector", {})[key] = value
        return self

    def prefers(self, key: str, *values: str, weight: int = 1) -> Self:
        """Prefers nodes whose label has one of these values."""
        term = {"matchExpressions": [{"key": key, "operator": "In", "values": values}]}
        affinity = self._spec.setdefault("affinity", {}).setdefault("nodeAffinity", {})
        preferred = affinity.setdefault("preferredDuringSchedulingIgnoredDuringExecution", [])
        preferred.append({"weight": weight, "preference": term})
        return self

    def spread(
        self, key: str, selector: Labels = None, max_skew: int = 1, *, soft: bool = False, **fields: Any
    ) -> Self:
        """Spreads evenly over the values of a node label, among the pods the labels select. Further
        fields of the constraint are written as in manifests: minDomains=3."""
        constraint = {
            "topologyKey": key,
            "maxSkew": max_skew,
            "whenUnsatisfiable": "ScheduleAnyway" if soft else "DoNotSchedule",
            "labelSelector": _selector(selector),
            **fields,
        }
        self._spec.setdefault("topologySpreadConstraints", []).append(constraint)
        return self

    def near(self, key: str, selector: Labels = None, **fields: Any) -> Self:
        """Goes only where a pod with these labels is, in the same domain of a node label."""
        return self._pod_term("podAffinity", _term(key, selector, fields))

    def apart(self, key: str, selector: Labels = None, **fields: Any) -> Self:
        """Goes only where no pod with these labels is, in the same domain of a node label."""
        return self._pod_term("podAntiAffinity", _term(key, selector, fields))

    def prefers_near(self, key: str, selector: Labels = None, weight: int = 1, **fields: Any) -> Self:
        return self._pod_term("podAffinity", _term(key, selector, fields), weight)

    def prefers_apart(self, key: str, selector: Labels = None, weight: int = 1, **fields: Any) -> Self:
        return self._pod_term("podAntiAffinity", _term(key, selector, fields), weight)

    def _pod_term(self, kind: str, term: dict[str, Any], weight: int = 0) -> Self:
        affinity = self._spec.setdefault("affinity", {}).setdefault(kind, {})
        point = "preferred" if weight else "required"
        given = {"weight": weight, "podAffinityTerm": term} if weight else term
        affinity.setdefault(f"{point}DuringSchedulingIgnoredDuringExecution", []).append(given)
        return self

    def owned_by(self, kind: str, name: str, api_version: str = "apps/v1") -> Self:
        """Belongs to a controller: owned_by("ReplicaSet", "web")."""
        owner = {"apiVersion": api_version, "kind": kind, "name": name, "uid": name, "controller": True}
        self._metadata.setdefault("ownerReferences", []).append(owner)
        return self

    def terminating(self) -> Self:
        self._metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        return self

    def host_port(self, port: int, protocol: str = "TCP", host_ip: str = "") -> Self:
        self._container["ports"].append({"hostPort": port, "protocol": protocol, "hostIP": host_ip})
        return self

    def image(self, name: str) -> Self:
        self._container["image"] = name
        return self

    def gated(self, name: str) -> Self:
        self._spec.setdefault("schedulingGates", []).append({"name": name})
        return self

    def scheduler(self, name: str) -> Self:
        self._spec["schedulerName"] = name
        return self

    def running_on(self, node_name: str) -> Self:
        """Is there already, whether it fits or not."""
        self._spec["nodeName"] = node_name
        self._status["phase"] = "Running"
        return self

    def nominated_to(self, node_name: str) -> Self:
        self._status["nominatedNodeName"] = node_name
        return self

    def build(self) -> Pod:
        spec = {**self._spec, "containers": [self._container]}
        return msgspec.convert({"metadata": self._metadata, "spec": spec, "status": self._status}, Pod)


def _selector(labels: Labels) -> dict[str, Any] | None:
    return None if labels is None else {"matchLabels": dict(labels)}


def _term(key: str, selector: Labels, fields: dict[str, Any]) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": _selector(selector), **fields}


def node(name: str) -> NodeBuilder:
    return NodeBuilder(name)


def pod(name: str, namespace: str = "default") -> PodBuilder:
    return PodBuilder(name, namespace)
