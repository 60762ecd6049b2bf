"""Which proxy stands before the API server, if any: the kubeconfig's, else that of the environment.

The environment is read as Go's programs read it: `HTTPS_PROXY` and `HTTP_PROXY`, of which the scheme may be
left out, and `NO_PROXY`, a list of names, addresses and networks, each of them with a port or without.
"""

from __future__ import annotations

import base64
import os
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import unquote, urlsplit

from mooring.kube.access.access import Access

Address = IPv4Address | IPv6Address

PORTS = {"http": 80, "https": 443}
SCHEMES = ("http", "https", "socks5", "socks5h")


def proxy_for(access: Access) -> str:
    """The proxy's URL, or nothing. Names and addresses of this machine are never asked through one."""
    if access.proxy:
        return access.proxy
    parts = urlsplit(access.server)
    proxy = _of_environment(f"{parts.scheme}_proxy")
    host = (parts.hostname or "").lower()
    if not proxy or is_loopback(host):
        return ""
    port = parts.port or PORTS.get(parts.scheme, 0)
    return "" if is_exempt(host, port, _of_environment("no_proxy")) else with_scheme(proxy)


def with_scheme(proxy: str) -> str:
    """`proxy:3128` is `http://proxy:3128`."""
    scheme, found, _ = proxy.partition("://")
    return proxy if found and scheme.lower() in SCHEMES else f"http://{proxy}"


def is_exempt(host: str, port: int, no_proxy: str) -> bool:
    """Whether a host is asked without a proxy. What stands in the list and cannot be read is passed over."""
    return any(_covers(entry.strip().lower(), host, port) for entry in no_proxy.split(","))


def proxy_authorization(proxy: str) -> dict[str, str]:
    """The header that says who asks the proxy, when its URL does."""
    parts = urlsplit(proxy)
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


def is_loopback(host: str) -> bool:
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def _of_environment(name: str) -> str:
    """In capitals first, as Go has it."""
    return os.environ.get(name.upper(), "") or os.environ.get(name, "")


def _covers(entry: str, host: str, port: int) -> bool:
    if entry == "*":
        return True
    address = _address(host)
    if "/" in entry:
        return address is not None and _holds(entry, address)
    name, its_port = _parted(entry)
    if not name or its_port not in ("", str(port)):
        return False
    if (its_address := _address(name)) is not None:
        return address == its_address
    name = name.removeprefix("*")
    return host.endswith(name) if name.startswith(".") else host == name or host.endswith(f".{name}")


def _holds(network: str, address: Address) -> bool:
    try:
        found = ip_network(network, strict=False)
    except ValueError:
        return False
    return found.version == address.version and address in found


def _parted(entry: str) -> tuple[str, str]:
    """Host and port of `host`, `host:port`, `[v6]:port`, `[v6]` and a bare IPv6 address."""
    if _address(entry) is not None:
        return entry, ""
    host, colon, port = entry.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = entry, ""
    return host.removeprefix("[").removesuffix("]"), port


def _address(text: str) -> Address | None:
    """An IPv4 address that is written as an IPv6 one is that IPv4 address."""
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found
