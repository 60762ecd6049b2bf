"""Every way to declare a gang, behind one question: which gang does this pod belong to?"""

from __future__ import annotations

import msgspec

from mooring.model.objects import Pod
from mooring.workloads.declared import Declared, Dialect
from mooring.workloads.dialects.kai_pod_group import Kai
from mooring.workloads.dialects.koordinator import TWO_NAMES, Koordinator, note
from mooring.workloads.dialects.kubernetes_pod_group import Kubernetes
from mooring.workloads.dialects.kubernetes_workload import Workload
from mooring.workloads.dialects.scheduler_plugins_pod_group import SchedulerPlugins
from mooring.workloads.dialects.volcano_pod_group import Volcano
from mooring.workloads.keys import NAMING_ANNOTATIONS, NAMING_LABELS, TOPOLOGY_INDEX
from mooring.workloads.written_values import Reading

DIALECTS: tuple[Dialect, ...] = (
    Koordinator(),
    SchedulerPlugins(),
    Kai(),
    Volcano(),
    Kubernetes(),
    Workload(),
)
BY_NAME = {dialect.name: dialect for dialect in DIALECTS}
READS = tuple(dict.fromkeys(resource for dialect in DIALECTS for resource in dialect.reads))
KINDS = tuple(dict.fromkeys(kind for dialect in DIALECTS for kind in dialect.kinds))

_no_label = NAMING_LABELS.isdisjoint
_no_annotation = NAMING_ANNOTATIONS.isdisjoint


def is_member(pod: Pod) -> bool:
    """Whether a pod says that it belongs to a gang. Every pod is asked, and most are not."""
    meta, spec = pod.metadata, pod.spec
    return not (
        _no_label(meta.labels)
        and (not (annotations := meta.annotations) or _no_annotation(annotations))
        and spec.scheduling_group is None
        and spec.workload_ref is None
    )


def declared_by(pod: Pod) -> Declared | None:
    """The gang a pod belongs to. One that declares two belongs to the first, and says so as a mistake."""
    found = [declared for dialect in DIALECTS if (declared := dialect.declared(pod)) is not None]
    if not found:
        return None
    first, mistakes = found[0], [TWO_NAMES.format(found[0].said, other.said) for other in found[1:2]]
    if (index := pod.metadata.annotations.get(TOPOLOGY_INDEX)) is not None:  # each pod has its own
        reading = Reading()
        reading.count(note(TOPOLOGY_INDEX), index)
        mistakes += reading.mistakes
    return msgspec.structs.replace(first, mistakes=(*mistakes, *first.mistakes)) if mistakes else first
