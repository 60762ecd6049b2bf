"""What a plugin that keeps its answers, and does not sign pods itself, sees of a pod: all but who it is.

Pods that are equal in spec, namespace, labels and annotations share one kept answer. So the name, the
uid and the status are not there to be read; a plugin that needs them declares it with `sign`.
"""

from __future__ import annotations

from typing import NoReturn

from mooring.errors import ScopeError
from mooring.model.objects import Pod, PodSpec
from mooring.model.requests import Request

SHOWN = ("spec", "namespace", "labels", "annotations", "priority", "preemptible", "request")


class PodShape:
    """A pod without its identity."""

    __slots__ = ("_pod", *SHOWN)

    spec: PodSpec
    namespace: str
    labels: dict[str, str]
    annotations: dict[str, str]
    priority: int
    preemptible: bool
    request: Request

    def __init__(self, pod: Pod) -> None:
        for name in SHOWN:
            setattr(self, name, getattr(pod, name))

    def __getattr__(self, name: str) -> NoReturn:
        if hasattr(Pod, name):
            raise ScopeError(
                f"keeps its answers for all pods of one shape but reads pod.{name}: "
                "override sign(pod) to return what it reads of a pod"
            )
        raise AttributeError(f"a pod has no attribute {name!r}")
