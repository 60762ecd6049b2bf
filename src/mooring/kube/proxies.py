"""Which proxy stands before the API server, if any: the kubeconfig's, else that of the environment."""

from __future__ import annotations

import base64
from ipaddress import ip_address
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

from mooring.kube.access import Access


def proxy_for(access: Access) -> str:
    """The proxy's URL, or nothing. Names and addresses of this machine are never asked through one."""
    if access.proxy:
        return access.proxy
    parts = urlsplit(access.server)
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass_environment(host):
        return ""
    return getproxies_environment().get(parts.scheme, "")


def proxy_authorization(proxy: str) -> dict[str, str]:
    """The header that says who asks the proxy, when its URL does."""
    parts = urlsplit(proxy)
    if parts.username is None:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Proxy-Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
