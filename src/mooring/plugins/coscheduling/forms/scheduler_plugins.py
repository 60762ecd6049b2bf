"""Gangs as scheduler-plugins has them: a PodGroup the pods name in a label."""

from __future__ import annotations

from collections.abc import Mapping

from mooring.framework.handle import Lister
from mooring.model.objects import Object, Pod
from mooring.plugins.coscheduling import keys
from mooring.plugins.coscheduling.declared import Declared, Form, Terms
from mooring.plugins.coscheduling.forms.pod_group import pod_group_terms


class SchedulerPlugins(Form):
    name = "scheduler-plugins"
    kinds = ("PodGroup.scheduling.x-k8s.io",)
    reads = ("scheduling.x-k8s.io/v1alpha1/podgroups",)
    prefix = "x-k8s:"

    def declared(self, pod: Pod) -> Declared | None:
        name = pod.labels.get(keys.PLUGINS_LABEL)
        if not name:
            return None
        gang_id = f"{pod.namespace}/{name}"
        said = f'label {keys.PLUGINS_LABEL} "{name}"'
        return Declared(form=self.name, key=self.prefix + gang_id, id=gang_id, source=gang_id, said=said)

    def terms(self, found: Object, entry: str, listers: Mapping[str, Lister]) -> Terms | None:
        return pod_group_terms(found)
