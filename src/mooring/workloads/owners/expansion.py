"""What an object makes: by the paths of its row, or by a reader where paths do not say it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mooring.workloads.owners.argo import read_rollout, read_workflow
from mooring.workloads.owners.by_paths import expanded
from mooring.workloads.owners.grove import read_pod_clique_set
from mooring.workloads.owners.paths import at
from mooring.workloads.owners.rows import Expansion, Find
from mooring.workloads.owners.schedules import scheduled_by
from mooring.workloads.owners.spark import read_spark
from mooring.workloads.owners.table import row_of
from mooring.workloads.owners.train_job import read_train_job

READERS: dict[str, Callable[[dict[str, Any], Find], Expansion]] = {
    "Rollout": read_rollout,
    "Workflow": read_workflow,
    "TrainJob": read_train_job,
    "SparkApplication": read_spark,
    "PodCliqueSet": read_pod_clique_set,
}


def makes_pods(api_version: object, kind: object) -> bool:
    """Whether a kind is in the table, or makes objects of one that is."""
    return row_of(api_version, kind) is not None or scheduled_by(api_version, kind) is not None


def templates_of(data: dict[str, Any]) -> tuple[str, ...]:
    """The paths of the pod specs in an object."""
    api_version, kind = data.get("apiVersion"), data.get("kind")
    if (row := row_of(api_version, kind)) is not None:
        of_roles = [f"{role.each}.{path}.spec".lstrip(".") for role in row.roles for path in role.templates]
        return tuple(dict.fromkeys((*of_roles, *row.pod_specs)))
    scheduled = scheduled_by(api_version, kind)
    is_job = scheduled is not None and scheduled.makes[1] == "Job"
    return (f"{scheduled.spec}.template.spec",) if is_job and scheduled is not None else ()


def label_of(api_version: object, kind: object) -> str | None:
    """The label by which pods of a kind's operator name their owner."""
    row = row_of(api_version, kind)
    return row.label or None if row is not None else None


def nothing_found(group: str, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
    return None


def expand(data: dict[str, Any], find: Find = nothing_found) -> Expansion | None:
    """What an object makes; None when its kind is not in the table. `find` looks up what it refers to."""
    row = row_of(data.get("apiVersion"), data.get("kind"))
    if row is None:
        return None
    if any(at(data, path) is True for path in row.suspend):
        return Expansion(suspended=True)
    reader = None if row.roles else READERS.get(row.kind)
    return expanded(data, row) if reader is None else reader(data, find)
