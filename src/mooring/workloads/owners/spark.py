"""SparkApplications: a driver, and executors once it runs. Pod templates are made of cores and memory."""

from __future__ import annotations

import re
from math import ceil
from typing import Any

from mooring.workloads.owners.paths import at, mapping, mappings, number, word
from mooring.workloads.owners.rows import READY, Expansion, Find, PodSet

MIB = 2**20
LEAST_OVERHEAD = 384 * MIB  # what Spark adds to a pod's memory at the least
FACTORS = {"Python": 0.4, "R": 0.4}  # of memory that is overhead; 0.1 for what runs in a JVM
UNITS = {"": MIB, "b": 1, "k": 2**10, "m": MIB, "g": 2**30, "t": 2**40}
COPIED = ("affinity", "tolerations", "schedulerName", "hostNetwork", "initContainers", "priorityClassName")

_MEMORY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([bkmgt]?)(?:i|i?b)?", re.IGNORECASE)


def read_spark(data: dict[str, Any], find: Find) -> Expansion:
    name = str(mapping(data, "metadata").get("name") or "")
    spec = mapping(data, "spec")
    executors = _executors(spec)
    labels = {"spark-app-name": name, "sparkoperator.k8s.io/app-name": name}
    sets = []
    if spec.get("mode") != "client":
        driver = _template(spec, "driver")
        sets.append(
            PodSet(
                name="driver",
                template=driver,
                count=1,
                total=1,
                pods=f"{name}-driver",
                labels={**labels, "spark-role": "driver"},
            )
        )
    sets.append(
        PodSet(
            name="executor",
            template=_template(spec, "executor"),
            count=executors,
            total=executors,
            pods=f"{name}-exec-{{number}}",
            labels={**labels, "spark-role": "executor"},
            after=(("driver", READY),) if sets else (),
        )
    )
    return Expansion(tuple(sets))


def _executors(spec: dict[str, Any]) -> int:
    dynamic = mapping(spec, "dynamicAllocation")
    fields = ("initialExecutors", "minExecutors") if dynamic.get("enabled") is True else ()
    found = number(dynamic, *fields) if fields else number(spec, "executor.instances")
    return 1 if found is None else found


def _template(spec: dict[str, Any], role: str) -> dict[str, Any]:
    said = mapping(spec, role)
    base = mapping(said, "template")
    pod = dict(mapping(base, "spec"))
    pod.update({key: said[key] for key in COPIED if said.get(key) is not None})
    if scheduler := word(spec, "batchScheduler"):
        pod.setdefault("schedulerName", scheduler)
    if priority := word(spec, "batchSchedulerOptions.priorityClassName"):
        pod.setdefault("priorityClassName", priority)
    selector = {**mapping(spec, "nodeSelector"), **mapping(said, "nodeSelector")}
    pod["nodeSelector"] = {**mapping(pod, "nodeSelector"), **selector}
    first, *rest = mappings(pod, "containers") or [{}]
    name = "spark-kubernetes-driver" if role == "driver" else "executor"
    container = {"image": spec.get("image") or "spark", **first, "name": name}
    pod["containers"] = [
        {**container, "resources": _resources(spec, said)},
        *rest,
        *mappings(said, "sidecars"),
    ]
    meta = mapping(base, "metadata")
    labels = {**mapping(meta, "labels"), **mapping(said, "labels")}
    return {
        "metadata": {
            "labels": labels,
            "annotations": {**mapping(meta, "annotations"), **mapping(said, "annotations")},
        },
        "spec": pod,
    }


def _resources(spec: dict[str, Any], said: dict[str, Any]) -> dict[str, Any]:
    memory = memory_of(said.get("memory")) or 1024 * MIB
    overhead = memory_of(said.get("memoryOverhead"))
    if overhead is None:
        overhead = max(ceil(memory * _factor(spec, said)), LEAST_OVERHEAD)
    whole = str(memory + overhead)
    requests: dict[str, Any] = {
        "cpu": str(said.get("coreRequest") or said.get("cores") or 1),
        "memory": whole,
    }
    limits: dict[str, Any] = {"memory": whole}
    if said.get("coreLimit"):
        limits["cpu"] = str(said["coreLimit"])
    if gpu := word(said, "gpu.name"):
        limits[gpu] = requests[gpu] = str(number(said, "gpu.quantity") or 0)
    return {"requests": requests, "limits": limits}


def _factor(spec: dict[str, Any], said: dict[str, Any]) -> float:
    for value in (said.get("memoryOverheadFactor"), spec.get("memoryOverheadFactor")):
        try:
            if value is not None:
                return float(value)
        except (TypeError, ValueError):
            continue
    return FACTORS.get(str(at(spec, "type")), 0.1)


def memory_of(value: object) -> int | None:
    """Bytes of memory as the JVM writes it: `512m`, `4g`; mebibytes without a unit. None for other text."""
    match = _MEMORY.fullmatch(value.strip()) if isinstance(value, str) else None
    return int(float(match[1]) * UNITS[match[2].lower()]) if match else None
