"""Mistakes in objects of kinds that make pods by the table of owners: templates, counts, schedules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from mooring.config.struct_check import convert
from mooring.errors import Mistake
from mooring.model.objects import ObjectMeta, PodSpec
from mooring.model.plain import read
from mooring.sim.manifests.checks.pods import not_negative, pod_spec
from mooring.sim.manifests.checks.times import time_annotations
from mooring.sim.manifests.located_value import Spot
from mooring.sim.world.workloads import JobSpec, PodTemplate
from mooring.workloads.owners.cron import Cron
from mooring.workloads.owners.expansion import templates_made, templates_of
from mooring.workloads.owners.paths import places, word
from mooring.workloads.owners.rows import OwnerKind
from mooring.workloads.owners.schedules import scheduled_by
from mooring.workloads.owners.table import row_of


def owner_mistakes(spot: Spot) -> Iterator[Mistake]:
    """What is wrong with an object that makes pods; nothing for other kinds."""
    api_version, kind = spot.value["apiVersion"], spot.value["kind"]
    found = [mistake for spec in pod_specs(spot) for mistake in _pod_spec(spec)]
    found += [*_schedules(spot), *_job_template(spot)]
    if (row := row_of(api_version, kind)) is not None:
        found += _counts(spot, row)
    yield from found or _unreadable(spot)


def _schedules(spot: Spot) -> Iterator[Mistake]:
    row = scheduled_by(spot.value["apiVersion"], spot.value["kind"])
    for path in row.schedules if row is not None else ():
        for steps, text in places(spot.value, path):
            try:
                Cron(str(text), word(spot.value, row.zone) if row is not None else "")
            except ValueError as error:
                yield _spot(spot, steps).wrong(f"is not a schedule: {error}")


def _job_template(spot: Spot) -> Iterator[Mistake]:
    """What a CronJob makes is a Job."""
    row = scheduled_by(spot.value["apiVersion"], spot.value["kind"])
    if row is None or row.makes[1] != "Job":
        return
    spec = spot.child(*row.spec.split("."))
    if not isinstance(spec.value, dict):
        yield spec.missing()
        return
    _, wrong = convert(spec.document, spec.path, JobSpec, ignore_unknown=True)
    yield from wrong
    meta = spot.child(*row.metadata.split("."))
    if meta.value is not None:
        _, wrong = convert(meta.document, meta.path, ObjectMeta, ignore_unknown=True)
        yield from wrong


def _counts(spot: Spot, row: OwnerKind) -> Iterator[Mistake]:
    paths: list[tuple[str | int, ...]] = [tuple(row.copies.split("."))] if row.copies else []
    for role in row.roles:
        fields = [path for path in (*role.count, role.copies, role.total, role.least) if path]
        for steps, _ in places(spot.value, role.each):
            paths += [(*steps, *path.split(".")) for path in fields if not path.startswith("@")]
    for path in dict.fromkeys(paths):
        yield from _count(_spot(spot, path))


def pod_specs(spot: Spot) -> Iterator[Spot]:
    """The pod specs in an object of such a kind."""
    for path in templates_of(spot.value):
        for steps, _ in places(spot.value, path):
            yield _spot(spot, steps)


def _spot(spot: Spot, steps: tuple[str | int, ...]) -> Spot:
    value = spot.value
    for step in steps:
        if isinstance(value, dict):
            value = value.get(step)
        else:
            value = value[step] if isinstance(value, list) and isinstance(step, int) else None
    return Spot(spot.document, (*spot.path, *steps), value, spot.base)


def _pod_spec(spec: Spot) -> Iterator[Mistake]:
    _, wrong = convert(spec.document, spec.path, PodSpec, ignore_unknown=True)
    yield from wrong
    if not wrong:
        yield from pod_spec(spec)
    if spec.path[-1] == "spec":
        above = Spot(spec.document, (*spec.path[:-1], "metadata"), None, spec.base)
        found = spec.document.at(spec.path[:-1])
        above.value = found.get("metadata") if isinstance(found, dict) else None
        yield from time_annotations(above)


def _count(number: Spot) -> Iterator[Mistake]:
    value = number.value
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        yield number.wrong("is not a whole number")
    yield from not_negative(number)


def _unreadable(spot: Spot) -> Iterator[Mistake]:
    """Pods that cannot be made of what is written where no path leads: a Workflow's containers."""
    for role, template in templates_made(spot.value):
        for mistake in _template_mistakes(spot, template):
            yield Mistake(spot.place, f'the pods of "{role}": {mistake}')


def _template_mistakes(spot: Spot, template: dict[str, Any]) -> Iterator[str]:
    try:
        read(template, PodTemplate)
    except msgspec.ValidationError as error:
        yield f"{error}."
        return
    made = Spot(spot.document, spot.path, template, spot.path)
    for mistake in (*pod_spec(made.child("spec")), *time_annotations(made.child("metadata"))):
        yield mistake.what
