"""Who a client is by what it shows: a front proxy speaking for others, a certificate of its own, or a token.

In this order, as in Kubernetes' own components. A certificate that was shown has been checked against all
authorities together in the handshake; here it is found out which of them it is of.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import msgspec
from aiohttp import web
from multidict import CIMultiDictProxy

from mooring.web.access import Credentials


class FrontProxy(msgspec.Struct, frozen=True, kw_only=True):
    """Whose word is taken for who asks, and the headers they give it in."""

    authorities: bytes = b""  # PEM
    allowed_names: tuple[str, ...] = ()  # any, when there is none
    username_headers: tuple[str, ...] = ("x-remote-user",)
    uid_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ("x-remote-group",)
    extra_prefixes: tuple[str, ...] = ("x-remote-extra-",)

    def speaks_for(self, headers: CIMultiDictProxy[str]) -> Credentials:
        """Whom it speaks for; nobody, when no header says so."""
        user = _first(headers, self.username_headers)
        if not user:
            return Credentials()
        groups = tuple(value for name in self.group_headers for value in headers.getall(name, []))
        return Credentials(
            user=user, groups=groups, uid=_first(headers, self.uid_headers), extra=self._extra(headers)
        )

    def _extra(self, headers: CIMultiDictProxy[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        found: dict[str, list[str]] = {}
        for name, value in headers.items():
            for prefix in self.extra_prefixes:
                if prefix and name.lower().startswith(prefix.lower()):
                    found.setdefault(unquote(name[len(prefix) :].lower()), []).append(value)
        return tuple((key, tuple(values)) for key, values in found.items())


class Authorities(msgspec.Struct, frozen=True, kw_only=True):
    """Whose certificates count: those of users, and those of front proxies."""

    clients: bytes = b""  # PEM
    proxy: FrontProxy = FrontProxy()

    def all(self) -> bytes:
        return b"\n".join(each for each in (self.clients, self.proxy.authorities) if each)


class Identities:
    """Reads the credentials off a request, by the authorities of this moment."""

    def __init__(self, authorities: Callable[[], Authorities] = lambda: Authorities()) -> None:
        self._authorities = authorities

    def __call__(self, request: web.Request) -> Credentials:
        authorities = self._authorities()
        der, certificate = _shown(request)
        if der is not None:
            proxy = authorities.proxy
            name = from_certificate(certificate).user
            if issued_by(der, proxy.authorities) and (not proxy.allowed_names or name in proxy.allowed_names):
                spoken_for = proxy.speaks_for(request.headers)
                if spoken_for.user:
                    return spoken_for
            if name and (not proxy.authorities or issued_by(der, authorities.clients)):
                return from_certificate(certificate)
        return from_token(request)


def from_token(request: web.Request) -> Credentials:
    scheme, _, token = request.headers.get("Authorization", "").strip().partition(" ")
    return Credentials(token=token.strip() if scheme.lower() == "bearer" else "")


def from_certificate(certificate: Mapping[str, Any]) -> Credentials:
    """The common name is the user, organizations are the groups."""
    parts = [part for name in certificate.get("subject", ()) for part in name]
    user = next((value for key, value in parts if key == "commonName"), "")
    return Credentials(user=user, groups=tuple(value for key, value in parts if key == "organizationName"))


@lru_cache(maxsize=256)
def issued_by(der: bytes, authorities: bytes) -> bool:
    """Whether one of the authorities itself has signed a certificate."""
    if not authorities:
        return False
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature

    certificate = x509.load_der_x509_certificate(der)
    for authority in x509.load_pem_x509_certificates(authorities):
        try:
            certificate.verify_directly_issued_by(authority)
        except (ValueError, TypeError, InvalidSignature):
            continue
        return True
    return False


def _shown(request: web.Request) -> tuple[bytes | None, Mapping[str, Any]]:
    """The certificate a client has shown, as bytes and read; None when it has shown none."""
    connection = request.transport.get_extra_info("ssl_object") if request.transport else None
    if connection is None:
        return None, {}
    certificate = connection.getpeercert()  # {} unless it was checked
    return (connection.getpeercert(True), certificate) if certificate else (None, {})


def _first(headers: CIMultiDictProxy[str], names: Sequence[str]) -> str:
    return next((headers[name] for name in names if headers.get(name)), "")
