"""Whether what filters say of a node stays right as long as the node and its pods stay as they are."""

from __future__ import annotations

from mooring.engine.placement.classes import PodClass
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.domain import DomainPlugin
from mooring.framework.api.plugin import Plugin
from mooring.framework.running.forms import Filter
from mooring.model.objects import Pod


def keeps_filters(pod_class: PodClass, cycle: Cycle, pod: Pod) -> bool:
    """Whether no filter that can reject a node for the pod looks at more than that node."""
    return pod_class.keeps and all(
        looks_at_the_node(form.plugin) or not can_reject(form, cycle, pod)
        for form in pod_class.filters_in(cycle)
    )


def can_reject(form: Filter, cycle: Cycle, pod: Pod) -> bool:
    """Whether the filter can reject a node for this pod."""
    if not isinstance(form.plugin, DomainPlugin):
        return True
    answer = answers.call(form.name, "domain", form.plugin.domain, cycle, pod)
    return bool(answer.filters)


def looks_at_the_node(plugin: Plugin) -> bool:
    """Whether what a plugin says of a node can change only with the node's row."""
    return plugin.scope.kept and type(plugin).version is Plugin.version
