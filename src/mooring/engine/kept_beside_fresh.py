"""What is kept of each class beside what looking at every node afresh gives: they must be the same.

This is what every kept evaluation promises. It costs a full evaluation per class, so it is for tests, and for
those who suspect a plugin of declaring a scope it does not keep to.
"""

from __future__ import annotations

import numpy as np

from mooring.engine.cycle.pre_filtering import pre_filter
from mooring.engine.parts import Parts
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.kept.evaluation import KeptEvaluation
from mooring.errors import InvariantError
from mooring.framework.api.cycle import Cycle
from mooring.model.objects import Pod

Totals = dict[int, int]  # by row


def check_kept(parts: Parts) -> None:
    """Brings every kept evaluation up to date; raises InvariantError for one that says anything else than a
    fresh one."""
    for pod_class, kept in parts.placer.kept.by_class():
        pod = kept.pod
        # Pods of a class that is no more are of others now: a new selector tells them apart, say.
        if pod is not None and parts.hooks.classes[pod_class.profile.name].of(pod) is pod_class:
            _check_one(parts, pod_class, kept, pod)


def _check_one(parts: Parts, pod_class: PodClass, kept: KeptEvaluation, pod: Pod) -> None:
    cycle = Cycle(pod_class.profile.name, parts.now)
    if pre_filter(pod_class, cycle, pod).rejection is not None:
        return
    parts.placer.evaluating = True
    try:
        fresh = _fresh(parts, pod_class, cycle.clone(), pod)
        if pod_class.pre_scores:
            parts.placer.full.pre_score(pod_class, cycle, pod, None)
        if kept.skips != (cycle.skip_filter, cycle.skip_score):
            return  # made anew when it is needed next
        known = dict(kept.sync(cycle, pod).totals())
    finally:
        parts.placer.evaluating = False
    if known != fresh:
        rows = sorted(row for row in known.keys() | fresh.keys() if known.get(row) != fresh.get(row))
        name = parts.cluster.nodes.object_at(rows[0]).name
        what = f"{known.get(rows[0])} is kept and {fresh.get(rows[0])} found"
        raise InvariantError(f"the score of {pod.key} on {name} and {len(rows) - 1} more nodes: {what}")


def _fresh(parts: Parts, pod_class: PodClass, cycle: Cycle, pod: Pod) -> Totals:
    """The totals of all nodes that take the pod, with nothing kept."""
    nodes, full = parts.cluster.nodes, parts.placer.full
    keeps, full.keeps = full.keeps, False
    try:
        ok = full.feasible(pod_class, cycle, pod, nodes.alive[: nodes.high].copy())
        if pod_class.pre_scores:
            full.pre_score(pod_class, cycle, pod, ok)
        totals = full.totals(pod_class, cycle, pod, ok)
    finally:
        full.keeps = keeps
    rows = np.flatnonzero(ok)
    return dict(zip(rows.tolist(), totals[rows].tolist(), strict=True))
