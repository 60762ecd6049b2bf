"""What a pod takes of a node, by resource."""

from __future__ import annotations

from weakref import WeakValueDictionary

import msgspec

from mooring.model.objects import Pod
from mooring.model.ports import HostPort
from mooring.model.requests import Request, bound_request

REMEMBERED = 1024  # requests; above it all are looked up anew
HEAVY = 2**43  # of any resource: a million pods that take less stay within 64 bits together


class Charge(msgspec.Struct, frozen=True, eq=False, weakref=True):
    """Amounts to add when a pod takes a place, and to subtract when it gives it back."""

    amounts: tuple[tuple[str, int], ...]  # by resource
    nonzero_cpu_milli: int
    nonzero_memory: int
    ports: tuple[HostPort, ...] = ()
    heavy: bool = False  # some amount is so large that sums of it have to be watched


class Charges:
    """Turns pods into charges, once per distinct request."""

    def __init__(self) -> None:
        self._known: WeakValueDictionary[tuple[Request, tuple[HostPort, ...]], Charge] = WeakValueDictionary()
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
            ("cpu", request.cpu_milli),
            ("memory", request.memory),
            ("ephemeral-storage", request.ephemeral_storage),
            *request.scalars,
        ]
        supposed = request.nonzero_cpu_milli, request.nonzero_memory
        return Charge(
            tuple((name, amount) for name, amount in amounts if amount),
            *supposed,
            ports,
            max(*supposed, *(amount for _, amount in amounts)) >= HEAVY,
        )


def _may_be_resized(pod: Pod) -> bool:
    status = pod.status
    return bool(status.container_statuses or status.init_container_statuses or status.resources)
