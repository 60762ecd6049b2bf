"""Binding as any scheduler may, for tests that are one."""

from __future__ import annotations

from e2e.api import Refused
from e2e.cluster import Cluster
from e2e.state import Pod


def bind(cluster: Cluster, pod: Pod, node: str) -> bool:
    """False when somebody else was faster."""
    body = {"metadata": {"name": pod.name}, "target": {"kind": "Node", "name": node}}
    try:
        cluster.api.create(f"{cluster.pods_path}/{pod.name}/binding", body)
    except Refused as refused:
        if refused.code != 409:
            raise
        return False
    return True
