"""Manifests of pods and what makes pods, short enough to write in a test."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from e2e.api import Object

IMAGE = "registry.invalid/nothing"  # nobody pulls it: kwok runs no containers


def pod(
    name: str,
    *,
    cpu: str = "100m",
    memory: str = "64Mi",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    extra: Mapping[str, str] | None = None,
    ports: tuple[int, ...] = (),
    **spec: Any,
) -> Object:
    """A pod of one container. `extra` are further resources, `ports` host ports; the rest is its spec's."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": dict(labels or {}), "annotations": dict(annotations or {})},
        "spec": {
            "containers": [container(cpu, memory, extra, ports)],
            "terminationGracePeriodSeconds": 1,
            **spec,
        },
    }


def container(
    cpu: str, memory: str, extra: Mapping[str, str] | None = None, ports: tuple[int, ...] = ()
) -> Object:
    asked = {"cpu": cpu, "memory": memory, **(extra or {})}
    return {
        "name": "main",
        "image": IMAGE,
        "resources": {"requests": asked, "limits": dict(extra or {})},
        "ports": [{"containerPort": port, "hostPort": port} for port in ports],
    }


def template(name: str, **pod_words: Any) -> Object:
    """The pod of a workload, labelled `app: name`."""
    made = pod(name, **{**pod_words, "labels": {"app": name, **pod_words.get("labels", {})}})
    return {
        "metadata": {key: made["metadata"][key] for key in ("labels", "annotations")},
        "spec": made["spec"],
    }


def deployment(name: str, replicas: int, **pod_words: Any) -> Object:
    return _replicated("Deployment", name, replicas, pod_words)


def stateful_set(name: str, replicas: int, **pod_words: Any) -> Object:
    made = _replicated("StatefulSet", name, replicas, pod_words)
    made["spec"]["serviceName"] = name
    return made


def daemon_set(name: str, **pod_words: Any) -> Object:
    made = _replicated("DaemonSet", name, 1, pod_words)
    del made["spec"]["replicas"]
    return made


def job(name: str, completions: int, *, parallelism: int = 0, **pod_words: Any) -> Object:
    """Its pods succeed as soon as they run, or after their annotation `e2e/run-for`."""
    spec = {"completions": completions, "parallelism": parallelism or completions}
    body = template(name, restartPolicy="Never", **pod_words)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {**spec, "template": body},
    }


def priority_class(name: str, value: int, policy: str = "PreemptLowerPriority") -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "preemptionPolicy": policy,
    }


def _replicated(kind: str, name: str, replicas: int, pod_words: Mapping[str, Any]) -> Object:
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": template(name, **pod_words),
    }
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}
