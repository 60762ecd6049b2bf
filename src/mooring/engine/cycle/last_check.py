"""The last look at a node before a pod takes its place there.

Filters have let the node pass, for the pod as they were shown it. Since then plugins may have changed the
pod, and some were shown another one than is charged to the node. Whatever they answered: where a profile
has a filter that counts what is free, nobody takes what is not there.
"""

from __future__ import annotations

import logging

from mooring.engine.attempt import Attempt
from mooring.engine.parts import Parts
from mooring.engine.placement.fit_error import FitError, one_node
from mooring.framework.api import answers

log = logging.getLogger("mooring.engine")

MISFIT = "lets pod {} take a place on node {}, where it does not fit: {}"


def misfit(parts: Parts, attempt: Attempt, row: int) -> FitError | None:
    """Why the pod does not fit where it is about to go, as the filter that counts says; None when it does.
    PluginFailed when that is the doing of a plugin."""
    nodes, view, pod, counts = parts.cluster.nodes, parts.view, attempt.pod, attempt.pod_class.counts
    assert counts is not None
    status = counts.one(attempt.cycle, pod, view.view(row), nodes, view)
    if status is None:
        return None
    name = nodes.object_at(row).metadata.name
    for point in ("resize_pod", "before_filter"):
        if hooks := attempt.profile.at(point):
            what = MISFIT.format(pod.key, name, status.message)
            raise answers.failed(hooks[-1].name, point, what)
    log.error("what is kept of %s is wrong: it does not fit on %s: %s", pod.key, name, status.message)
    parts.placer.forget()
    return one_node(nodes, name, status)
