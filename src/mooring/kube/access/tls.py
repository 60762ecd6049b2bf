"""TLS towards the API server: whom to trust, and what to show."""

from __future__ import annotations

import logging
import ssl
from functools import cache

from mooring.errors import ConfigError
from mooring.extender.tls import as_file
from mooring.kube.access.access import Access
from mooring.kube.access.credentials import Credential

log = logging.getLogger("mooring.kube")

NOT_VERIFIED = (
    "insecure-skip-tls-verify is set: whoever answers at %s is believed to be the API server, "
    "and is shown this scheduler's credentials"
)


def tls_context(access: Access, credential: Credential) -> ssl.SSLContext:
    """How to speak TLS to a server, with a certificate of one's own if there is one."""
    try:
        context = _trusting(access)
        if credential.certificate:
            with as_file(credential.certificate, "") as certificate, as_file(credential.key, "") as key:
                context.load_cert_chain(certificate, key)
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise ConfigError.at(access.server, f"its certificates cannot be used: {error}") from error
    return context


def check_tls(access: Access, credential: Credential) -> None:
    """Raises ConfigError when TLS is to be spoken and cannot be. Warns when it protects from nobody."""
    if access.server.startswith("https:"):
        tls_context(access, credential)
        if not access.verify:
            _warn(access.server)


@cache
def _warn(server: str) -> None:
    """Once: several transports may speak to one server."""
    log.warning(NOT_VERIFIED, server)


def _trusting(access: Access) -> ssl.SSLContext:
    if not access.verify:
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    context = ssl.create_default_context(cadata=_ascii(access.authorities) if access.authorities else None)
    # Many clusters sign with authorities that newer Pythons find too loosely made; Go takes them.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return context


def _ascii(authorities: bytes) -> str:
    """Certificates without what is written around them. Without any, the system's would be trusted."""
    if b"BEGIN CERTIFICATE" not in authorities:
        raise ValueError("there is no certificate in the certificate authority")
    return authorities.decode("ascii", "ignore")
