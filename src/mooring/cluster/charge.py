"""What a pod takes of a node's columns: its request with resource names turned into column numbers."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mooring.model.objects import Pod
from mooring.model.ports import HostPort
from mooring.model.requests import Request, bound_request

CPU, MEMORY, EPHEMERAL_STORAGE = 0, 1, 2
FIRST_RESOURCES = ("cpu", "memory", "ephemeral-storage")


class Charge(msgspec.Struct, frozen=True, eq=False):
    """Amounts to add to columns when a pod takes a place, and to subtract when it gives it back."""

    columns: tuple[tuple[int, int], ...]
    nonzero_cpu_milli: int
    nonzero_memory: int
    ports: tuple[HostPort, ...] = ()


class Charges:
    """Turns pods into charges, once per distinct request."""

    def __init__(self, column_of: Callable[[str], int]) -> None:
        self._column_of = column_of
        self._known: dict[tuple[Request, tuple[HostPort, ...]], Charge] = {}

    def of(self, pod: Pod, *, bound: bool) -> Charge:
        """What a pod takes; a bound pod may hold more than its spec says (in-place resize)."""
        request = bound_request(pod) if bound and _may_be_resized(pod) else pod.spec.request
        key = (request, pod.spec.host_ports)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._charge(*key)
        return known

    def _charge(self, request: Request, ports: tuple[HostPort, ...]) -> Charge:
        amounts = [
            (CPU, request.cpu_milli),
            (MEMORY, request.memory),
            (EPHEMERAL_STORAGE, request.ephemeral_storage),
            *((self._column_of(name), amount) for name, amount in request.scalars),
        ]
        return Charge(
            tuple((column, amount) for column, amount in amounts if amount),
            request.nonzero_cpu_milli,
            request.nonzero_memory,
            ports,
        )


def _may_be_resized(pod: Pod) -> bool:
    status = pod.status
    return bool(status.container_statuses or status.init_container_statuses or status.resources)
