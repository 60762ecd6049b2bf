"""What a pod takes of a node's columns: its request with resource names turned into column numbers."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from mooring.model.objects import Pod
from mooring.model.ports import HostPort
from mooring.model.requests import Request, bound_request

REMEMBERED = 10_000  # requests; above it all are looked up anew
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
        self._of_request: dict[int, tuple[Request, tuple[HostPort, ...], Charge]] = {}  # by identity

    def of(self, pod: Pod, *, bound: bool) -> Charge:
        """What a pod takes; a bound pod may hold more than its spec says (in-place resize)."""
        spec = pod.spec
        request = bound_request(pod) if bound and _may_be_resized(pod) else spec.request
        ports = spec.host_ports
        # Pods of a workload share their request: telling it by its identity is quicker than by its amounts.
        known = self._of_request.get(id(request))
        if known is not None and known[0] is request and known[1] is ports:
            return known[2]
        if len(self._of_request) >= REMEMBERED:
            self._of_request.clear()
        charge = self._shared(request, ports)
        self._of_request[id(request)] = (request, ports, charge)
        return charge

    def _shared(self, request: Request, ports: tuple[HostPort, ...]) -> Charge:
        known = self._known.get((request, ports))
        if known is None:
            known = self._known[request, ports] = self._charge(request, ports)
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
