"""Kinds that make an object of another kind at the times of a schedule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from mooring.workloads.owners.cron import Cron
from mooring.workloads.owners.paths import at, mapping, places, word


class Scheduled(msgspec.Struct, frozen=True, kw_only=True):
    """One such kind: where its schedules are, and what it makes of which part of its spec."""

    group: str
    kind: str
    makes: tuple[str, str]  # apiVersion and kind
    spec: str
    metadata: str = ""
    schedules: tuple[str, ...] = ("spec.schedule",)
    zone: str = "spec.timeZone"
    suspend: str = "spec.suspend"
    policy: str = "spec.concurrencyPolicy"


SCHEDULED = (
    Scheduled(
        group="batch",
        kind="CronJob",
        makes=("batch/v1", "Job"),
        spec="spec.jobTemplate.spec",
        metadata="spec.jobTemplate.metadata",
    ),
    Scheduled(
        group="argoproj.io",
        kind="CronWorkflow",
        makes=("argoproj.io/v1alpha1", "Workflow"),
        spec="spec.workflowSpec",
        metadata="spec.workflowMetadata",
        schedules=("spec.schedule", "spec.schedules[*]"),
        zone="spec.timezone",
    ),
    Scheduled(
        group="sparkoperator.k8s.io",
        kind="ScheduledSparkApplication",
        makes=("sparkoperator.k8s.io/v1beta2", "SparkApplication"),
        spec="spec.template",
    ),
)
BY_KIND = {f"{row.kind}.{row.group}": row for row in SCHEDULED}


def scheduled_by(api_version: object, kind: object) -> Scheduled | None:
    return BY_KIND.get(f"{kind}.{str(api_version).rpartition('/')[0]}")


def schedules_of(row: Scheduled, data: dict[str, Any]) -> list[Cron]:
    """Its schedules. ValueError says what is wrong with one."""
    zone = word(data, row.zone)
    return [Cron(str(text), zone) for path in row.schedules for _, text in places(data, path)]


def is_suspended(row: Scheduled, data: dict[str, Any]) -> bool:
    return at(data, row.suspend) is True


def object_at(row: Scheduled, data: dict[str, Any], moment: float) -> dict[str, Any]:
    """What it makes at a moment, named as a CronJob's Jobs are."""
    meta, given = mapping(data, "metadata"), mapping(data, row.metadata) if row.metadata else {}
    made = {key: given[key] for key in ("labels", "annotations") if given.get(key)}
    name = f"{meta.get('name')}-{int(moment // 60)}"
    made |= {"name": name, "namespace": meta.get("namespace")}
    api_version, kind = row.makes
    return {"apiVersion": api_version, "kind": kind, "metadata": made, "spec": mapping(data, row.spec)}


def next_time(crons: list[Cron], after: float) -> float | None:
    return min(_times(crons, after), default=None)


def _times(crons: list[Cron], after: float) -> Iterator[float]:
    for cron in crons:
        if (moment := cron.next_after(after)) is not None:
            yield moment
