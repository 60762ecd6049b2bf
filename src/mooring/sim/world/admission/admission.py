"""Admission of pods: RuntimeClass and LimitRange fill in, all three refuse.

Where no RuntimeClass is given at all, the name of one is not refused: the files tell of no runtimes.
"""

from __future__ import annotations

from msgspec.structs import replace

from mooring.errors import ApiError
from mooring.model.objects import Container, Object, Pod
from mooring.model.quantity import nanos
from mooring.sim.world.admission.limit_ranges import problems, with_defaults
from mooring.sim.world.admission.quotas import Quota, read_quota, usage_of
from mooring.sim.world.admission.refusals import forbidden, is_binary, shown, together
from mooring.sim.world.admission.runtime_classes import Rejected, with_runtime_class
from mooring.sim.world.store import Store

LIMIT_RANGE, QUOTA, RUNTIME_CLASS = "LimitRange", "ResourceQuota", "RuntimeClass"
GROUP_OF = {LIMIT_RANGE: "v1", QUOTA: "v1", RUNTIME_CLASS: "node.k8s.io/v1"}


class Admission:
    """Decides about the pods of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._quotas: dict[str, dict[str, Quota]] = {}  # by namespace, then by name

    def fill_in(self, pod: Pod) -> Pod:
        """The pod with what RuntimeClass and LimitRanges give it. `check` tells what does not go together."""
        spec = pod.spec
        if classes := self._of_kind(RUNTIME_CLASS):
            try:
                spec = with_runtime_class(spec, classes)
            except Rejected:
                return pod
        for limit_range in self._limit_ranges(pod):
            spec = with_defaults(spec, limit_range)
        return pod if spec is pod.spec else replace(pod, spec=spec)

    def check(self, pod: Pod) -> None:
        """Forbidden says, in the API server's words, why the pod may not come."""
        if classes := self._of_kind(RUNTIME_CLASS):
            try:
                with_runtime_class(pod.spec, classes)
            except Rejected as error:
                raise forbidden(pod.name, str(error)) from None
        _check_limits(pod)
        for limit_range in self._limit_ranges(pod):
            if found := problems(pod.spec, limit_range):
                raise forbidden(pod.name, together(found))
        for quota in self._quotas.get(pod.namespace, {}).values():
            if what := quota.problem(pod):
                raise forbidden(pod.name, what)

    def charge(self, pod: Pod, *, sign: int = 1) -> None:
        """Counts a pod as using its quotas; with `sign` -1, no more."""
        quotas = self._quotas.get(pod.namespace)
        if quotas:
            usage = {name: sign * amount for name, amount in usage_of(pod).items()}
            for quota in quotas.values():
                if quota.is_about(pod):
                    quota.charge(usage)

    def learn(self, found: Object, *, gone: bool = False) -> None:
        """An object that admission goes by is there, has changed or is gone."""
        if found.kind != QUOTA:
            return
        quotas = self._quotas.setdefault(found.metadata.namespace, {})
        quotas.pop(found.metadata.name, None)
        if gone:
            return
        quota = read_quota(found)
        quotas[quota.name] = quota
        for pod in self._store.pods.values():
            if pod.namespace == quota.namespace and quota.is_about(pod):
                quota.charge(usage_of(pod))

    def _of_kind(self, kind: str) -> dict[str, Object]:
        return self._store.objects.get((GROUP_OF[kind].rpartition("/")[0], kind), {})

    def _limit_ranges(self, pod: Pod) -> list[Object]:
        found = self._of_kind(LIMIT_RANGE)
        return [each for each in found.values() if each.metadata.namespace == pod.namespace] if found else []


def _check_limits(pod: Pod) -> None:
    """A default limit may be below what a container asks for: then the pod is not valid."""
    for index, container in enumerate(pod.spec.containers):
        for name, asked in container.resources.requests.items():
            limit = container.resources.limits.get(name)
            if limit is not None and nanos(asked) > nanos(limit):
                raise ApiError(422, _above(pod, index, container, name), "Invalid")


def _above(pod: Pod, index: int, container: Container, name: str) -> str:
    asked, limit = container.resources.requests[name], container.resources.limits[name]
    return (
        f'Pod "{pod.name}" is invalid: spec.containers[{index}].resources.requests: Invalid value: '
        f'"{shown(nanos(asked), binary=is_binary(asked))}": must be less than or equal to {name} limit of '
        f"{shown(nanos(limit), binary=is_binary(limit))}"
    )
