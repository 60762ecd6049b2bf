"""Every way to declare a gang, behind one question: which gang does this pod belong to?"""

from __future__ import annotations

import msgspec

from mooring.model.objects import Pod
from mooring.plugins.coscheduling.declared import Declared, Form
from mooring.plugins.coscheduling.forms.kai import Kai
from mooring.plugins.coscheduling.forms.koordinator import TWO_NAMES, Koordinator
from mooring.plugins.coscheduling.forms.kubernetes import Kubernetes
from mooring.plugins.coscheduling.forms.scheduler_plugins import SchedulerPlugins
from mooring.plugins.coscheduling.forms.volcano import Volcano
from mooring.plugins.coscheduling.forms.workload import Workload
from mooring.plugins.coscheduling.keys import NAMING_ANNOTATIONS, NAMING_LABELS

FORMS: tuple[Form, ...] = (Koordinator(), SchedulerPlugins(), Kai(), Volcano(), Kubernetes(), Workload())
BY_NAME = {form.name: form for form in FORMS}
READS = tuple(dict.fromkeys(resource for form in FORMS for resource in form.reads))
KINDS = tuple(dict.fromkeys(kind for form in FORMS for kind in form.kinds))

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
    found = [declared for form in FORMS if (declared := form.declared(pod)) is not None]
    if len(found) < 2:
        return found[0] if found else None
    first, second = found[:2]
    two = TWO_NAMES.format(first.said, second.said)
    return msgspec.structs.replace(first, mistakes=(two, *first.mistakes))
