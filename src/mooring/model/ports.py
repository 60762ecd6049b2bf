"""Host ports a pod occupies on its node."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mooring.model.objects import PodSpec

ANY_ADDRESS = "0.0.0.0"  # the wildcard of a host port; nothing is bound here

HostPort = tuple[str, str, int]  # ip, protocol, port


def host_ports(spec: PodSpec) -> tuple[HostPort, ...]:
    """Host ports of regular containers and sidecars, with the defaults filled in."""
    sidecars = (c for c in spec.init_containers if c.restart_policy == "Always")
    return tuple(
        (port.host_ip or ANY_ADDRESS, port.protocol or "TCP", port.host_port)
        for container in (*sidecars, *spec.containers)
        for port in container.ports
        if port.host_port > 0
    )


def addresses_clash(one: str, other: str) -> bool:
    """Whether two addresses of the same protocol and port exclude each other."""
    return one == other or ANY_ADDRESS in (one, other)
