"""Gangs as scheduler-plugins has them: a PodGroup the pods name in a label."""

from __future__ import annotations

from collections.abc import Mapping

from mooring.framework.api.handle import Lister
from mooring.model.objects import Object
from mooring.workloads import keys
from mooring.workloads.declared import Terms
from mooring.workloads.dialects.pod_group_fields import NamedInMetadata, pod_group_terms


class SchedulerPlugins(NamedInMetadata):
    name = "scheduler-plugins"
    kinds = ("PodGroup.scheduling.x-k8s.io",)
    reads = ("scheduling.x-k8s.io/v1alpha1/podgroups",)
    prefix = "x-k8s:"
    where = "label"
    naming_key = keys.PLUGINS_LABEL

    def terms(self, found: Object, entry: str, listers: Mapping[str, Lister]) -> Terms | None:
        return pod_group_terms(found)
