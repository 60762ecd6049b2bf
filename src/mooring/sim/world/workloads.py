"""The workload kinds whose controllers the embedded cluster plays, and PriorityClass.

Only the fields that decide which pods exist, and when. Attributes are the API's field names in
snake case, as in `mooring.model.objects`.
"""

from __future__ import annotations

from typing import Any

from mooring.model.objects import LabelSelector, ObjectMeta, PodSpec, Wire

ARRIVES_AT = "sim.mooring.io/arrives-at"
RUNS_FOR = "sim.mooring.io/runs-for"
LEAVES_AT = "sim.mooring.io/leaves-at"
TIME_ANNOTATIONS = (ARRIVES_AT, RUNS_FOR, LEAVES_AT)


class PodTemplate(Wire, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()


class ReplicaSpec(Wire, frozen=True):
    """Of a Deployment and of a ReplicaSet: their fields of interest are the same."""

    replicas: int = 1
    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()


class Deployment(Wire, frozen=True):
    metadata: ObjectMeta
    spec: ReplicaSpec = ReplicaSpec()


class ReplicaSet(Wire, frozen=True):
    metadata: ObjectMeta
    spec: ReplicaSpec = ReplicaSpec()


class Ordinals(Wire, frozen=True):
    start: int = 0


class StatefulSetSpec(Wire, frozen=True):
    replicas: int = 1
    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()
    service_name: str = ""
    pod_management_policy: str = "OrderedReady"
    volume_claim_templates: tuple[dict[str, Any], ...] = ()
    ordinals: Ordinals = Ordinals()


class StatefulSet(Wire, frozen=True):
    metadata: ObjectMeta
    spec: StatefulSetSpec = StatefulSetSpec()


class DaemonSetSpec(Wire, frozen=True):
    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()


class DaemonSet(Wire, frozen=True):
    metadata: ObjectMeta
    spec: DaemonSetSpec = DaemonSetSpec()


class JobSpec(Wire, frozen=True):
    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    suspend: bool = False
    template: PodTemplate = PodTemplate()


class Job(Wire, frozen=True):
    metadata: ObjectMeta
    spec: JobSpec = JobSpec()


class PriorityClass(Wire, frozen=True):
    metadata: ObjectMeta
    value: int
    global_default: bool = False
    preemption_policy: str = "PreemptLowerPriority"


class Namespace(Wire, frozen=True):
    metadata: ObjectMeta


Workload = Deployment | ReplicaSet | StatefulSet | DaemonSet | Job


def template_of(data: dict[str, Any]) -> dict[str, Any]:
    """The pod template of a workload as plain data, {} when it has none."""
    spec = data.get("spec")
    template = spec.get("template") if isinstance(spec, dict) else None
    return template if isinstance(template, dict) else {}
