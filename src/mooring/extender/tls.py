"""TLS towards an extender, from files or from data in the configuration."""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mooring.config.scheduler import Extender, ExtenderTLS
from mooring.errors import ConfigError

ROOTS_AND_INSECURE = "specifying a root certificates file with the insecure flag is not allowed"


def tls_context(extender: Extender, place: str) -> ssl.SSLContext | None:
    """How to speak TLS to an extender; None for the system's own way. Data goes before files.

    HTTPS that is asked for without a root certificate is not verified, as kube-scheduler has it.
    """
    tls = extender.tls_config or ExtenderTLS()
    has_roots = bool(tls.ca_file or tls.ca_data)
    if extender.tls_config is None and not extender.enable_https:
        return None
    if tls.insecure and has_roots:
        raise ConfigError.at(place, ROOTS_AND_INSECURE)
    try:
        return _context(tls, verify=not (tls.insecure or (extender.enable_https and not has_roots)))
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise ConfigError.at(place, f"tlsConfig cannot be used: {error}") from error


def _context(tls: ExtenderTLS, *, verify: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if tls.ca_data or tls.ca_file:
        context = ssl.create_default_context(
            cafile=None if tls.ca_data else tls.ca_file,
            cadata=tls.ca_data.decode("ascii") if tls.ca_data else None,
        )
    if (tls.cert_data or tls.cert_file) and (tls.key_data or tls.key_file):
        with as_file(tls.cert_data, tls.cert_file) as cert, as_file(tls.key_data, tls.key_file) as key:
            context.load_cert_chain(cert, key)
    return context


@contextmanager
def as_file(data: bytes, path: str) -> Iterator[str]:
    """A file that holds the data: OpenSSL reads a certificate of one's own from nothing else."""
    if not data:
        yield path
        return
    number, name = tempfile.mkstemp(prefix="mooring-")  # readable by its owner alone
    try:
        with os.fdopen(number, "wb") as file:
            file.write(data)
        yield name
    finally:
        with suppress(OSError):
            Path(name).unlink()
