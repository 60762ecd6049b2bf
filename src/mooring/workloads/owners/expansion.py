"""What an object makes: by the paths of its row, or by a reader where paths do not say it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mooring.workloads.owners.argo import read_rollout, read_workflow, workflow_templates
from mooring.workloads.owners.by_paths import expanded
from mooring.workloads.owners.grove import read_pod_clique_set
from mooring.workloads.owners.paths import at, mapping
from mooring.workloads.owners.rows import Expansion, Find
from mooring.workloads.owners.schedules import object_at, scheduled_by
from mooring.workloads.owners.spark import read_spark
from mooring.workloads.owners.table import row_of
from mooring.workloads.owners.train_job import RUNTIME_POD_SPECS, RUNTIMES, read_train_job

READERS: dict[str, Callable[[dict[str, Any], Find], Expansion]] = {
    "Rollout": read_rollout,
    "Workflow": read_workflow,
    "TrainJob": read_train_job,
    "SparkApplication": read_spark,
    "PodCliqueSet": read_pod_clique_set,
}
WORKFLOWS = tuple(
    f"{kind}.argoproj.io" for kind in ("Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate")
)


def makes_pods(api_version: object, kind: object) -> bool:
    """Whether a kind is in the table, or makes objects of one that is."""
    return row_of(api_version, kind) is not None or scheduled_by(api_version, kind) is not None


def templates_of(data: dict[str, Any]) -> tuple[str, ...]:
    """The paths of the pod specs in an object."""
    api_version, kind = data.get("apiVersion"), data.get("kind")
    if (row := row_of(api_version, kind)) is not None:
        of_roles = [f"{role.each}.{path}.spec".lstrip(".") for role in row.roles for path in role.templates]
        return tuple(dict.fromkeys((*of_roles, *row.pod_specs)))
    if f"{kind}.{str(api_version).rpartition('/')[0]}" in RUNTIMES:
        return (RUNTIME_POD_SPECS,)
    scheduled = scheduled_by(api_version, kind)
    is_job = scheduled is not None and scheduled.makes[1] == "Job"
    return (f"{scheduled.spec}.template.spec",) if is_job and scheduled is not None else ()


def templates_made(data: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The pod templates that are made of what an object says, each with the name of its role."""
    kind = f"{data.get('kind')}.{str(data.get('apiVersion')).rpartition('/')[0]}"
    scheduled = scheduled_by(data.get("apiVersion"), data.get("kind"))
    made = data if scheduled is None else object_at(scheduled, data, 0.0)
    if kind in WORKFLOWS or (scheduled is not None and scheduled.makes[1] == "Workflow"):
        yield from workflow_templates(mapping(made, "spec"))
    else:
        found = expand(made)
        yield from ((one.name, one.template) for one in (found.sets if found is not None else ()))


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
