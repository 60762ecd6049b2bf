"""Objects in a line."""

from __future__ import annotations

from mooring.model.objects import Container, Node, NodeStatus, ObjectMeta, Pod, PodSpec, ResourceRequirements


def node(name: str, *, cpu: str = "4", memory: str = "8Gi", pods: str = "110", **labels: str) -> Node:
    status = NodeStatus(allocatable={"cpu": cpu, "memory": memory, "pods": pods})
    return Node(metadata=ObjectMeta(name=name, labels=labels), status=status)


def pod(name: str, *, cpu: str = "1", on: str = "", **spec: object) -> Pod:
    container = Container(name="c", resources=ResourceRequirements(requests={"cpu": cpu}))
    return Pod(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec=PodSpec(node_name=on, containers=(container,), **spec),  # type: ignore[arg-type]
    )
