"""Whether the forms in which a plugin filters or scores agree, on every node of a small cluster."""

from __future__ import annotations

from mooring.cluster.amounts import amounts_at
from mooring.cluster.cluster import Cluster
from mooring.cluster.view import ClusterView
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.running.forms import Filter, Scorer
from mooring.framework.running.many_pods import OverPods
from mooring.model.objects import Pod


def check_agreement(form: Filter | Scorer, cycle: Cycle, pod: Pod, cluster: Cluster) -> None:
    """Raises PluginFailed when two forms say different things, or raw scores do not normalise into 0..100."""
    view, shown, vector = ClusterView(cluster.nodes, cluster.pods), form.shown(pod), f"{form.point}_nodes"
    columns = form.columns(cluster.nodes, view)
    found = form.many(cycle, shown, columns, columns.alive, cluster.nodes)
    if form.amounts_only:
        rows = [node.row for node in reversed(view.nodes)]
        if form.over(cycle, shown, amounts_at(cluster.nodes, rows)).tolist() != found[rows].tolist():
            raise answers.failed(form.name, vector, f"{vector} reads more than amounts")
    for node in view.nodes:
        one = form.one(cycle, shown, form.view(node), cluster.nodes, view)
        said = one is None if isinstance(form, Filter) else one
        if found[node.row] != said:
            raise _disagreement(form, vector, node.name)
        if form.over_pods and not (isinstance(form, Scorer) and form.raw):
            passes, score = _over_pods(form).one(pod, node)
            if said != (passes if isinstance(form, Filter) else score):
                raise _disagreement(form, "pod_columns", node.name)
    if isinstance(form, Scorer) and form.raw:
        form.normalized(sorted({int(found[node.row]) for node in view.nodes}))


def _over_pods(form: Filter | Scorer) -> OverPods:
    return OverPods([form], ()) if isinstance(form, Filter) else OverPods((), [(form, 1)])


def _disagreement(form: Filter | Scorer, other: str, node: str) -> Exception:
    return answers.failed(form.name, other, f"{form.point} and {other} disagree on node {node}")
