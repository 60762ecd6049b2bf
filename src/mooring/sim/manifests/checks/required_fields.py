"""What an object must have before an API server takes it, in the API server's words."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from mooring.errors import Mistake
from mooring.sim.manifests.located_value import Spot

REQUIRED = ": Required value"


def missing_fields(kind: str, spot: Spot) -> Iterator[Mistake]:
    """What an object lacks."""
    return CHECKS.get(kind, _nothing)(spot)


def _nothing(spot: Spot) -> Iterator[Mistake]:
    return iter(())


def _pod(pod: Spot) -> Iterator[Mistake]:
    return _containers(pod.child("spec"))


def _workload(workload: Spot) -> Iterator[Mistake]:
    spec = workload.child("spec")
    yield from _required(spec.child("selector"))
    yield from _template(spec.child("template"))
    policy = spec.child("template", "spec", "restartPolicy")
    if isinstance(policy.value, str) and policy.value not in ("", "Always"):
        yield policy.note(f': Unsupported value: "{policy.value}": supported values: "Always"')


def _replication(controller: Spot) -> Iterator[Mistake]:
    """Its selector follows from the template."""
    return _template(controller.child("spec", "template"))


def _cron_job(cron_job: Spot) -> Iterator[Mistake]:
    yield from _required(cron_job.child("spec", "schedule"))
    yield from _job(cron_job.child("spec", "jobTemplate"))


def _job(job: Spot) -> Iterator[Mistake]:
    template = job.child("spec", "template")
    yield from _template(template)
    policy = template.child("spec", "restartPolicy")
    if template.value and policy.value in (None, "", "Always"):
        yield policy.note(f'{REQUIRED}: valid values: "OnFailure", "Never"')


def _template(template: Spot) -> Iterator[Mistake]:
    if template.value:
        yield from _containers(template.child("spec"))
    else:
        yield template.note(REQUIRED)


def _containers(spec: Spot) -> Iterator[Mistake]:
    yield from _required(spec.child("containers"))
    names = set()
    for container in spec.child("initContainers").items() + spec.child("containers").items():
        if not isinstance(container.value, dict):
            continue
        name = container.child("name")
        yield from _required(name)
        yield from _required(container.child("image"))
        if isinstance(name.value, str) and name.value in names:
            yield name.note(f': Duplicate value: "{name.value}"')
        names.add(str(name.value or ""))
        for port in container.child("ports").items():
            yield from _required(port.child("containerPort"))


def _required(spot: Spot) -> Iterator[Mistake]:
    if not spot.value:
        yield spot.note(REQUIRED)


CHECKS: dict[str, Callable[[Spot], Iterator[Mistake]]] = {
    "Pod": _pod,
    "Deployment": _workload,
    "ReplicaSet": _workload,
    "DaemonSet": _workload,
    "StatefulSet": _workload,
    "Job": _job,
    "CronJob": _cron_job,
    "ReplicationController": _replication,
}
