"""Certificates of our own: made when nobody gives any, signed by themselves, in a folder or in memory."""

from __future__ import annotations

import datetime
import ipaddress
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509

PAIR_NAME = "kube-scheduler"  # of the files kept in --cert-dir
VALID_FOR = datetime.timedelta(days=365)
CLOCKS_DIFFER = datetime.timedelta(hours=1)  # at most, between here and whoever connects
LONGEST_COMMON_NAME = 64


def kept_pair(folder: Path, names: Sequence[str], now: datetime.datetime | None = None) -> tuple[Path, Path]:
    """The certificate and key of a folder, made if they are not there or have run out."""
    cert_path, key_path = folder / f"{PAIR_NAME}.crt", folder / f"{PAIR_NAME}.key"
    if not (cert_path.exists() and key_path.exists()) or _has_run_out(cert_path, now):
        folder.mkdir(parents=True, exist_ok=True)
        cert, key = self_signed(names)
        key_path.unlink(missing_ok=True)
        key_path.touch(mode=0o600)
        key_path.write_bytes(key)
        cert_path.write_bytes(cert)
    return cert_path, key_path


def _has_run_out(cert_path: Path, now: datetime.datetime | None) -> bool:
    try:
        return certificate_lifetime(cert_path.read_bytes())[1] <= (now or datetime.datetime.now(datetime.UTC))
    except ValueError:
        return False  # not a certificate: whoever put it there is told when it is loaded


def certificate_names_of(pem: bytes) -> tuple[str, ...]:
    """The names and addresses a certificate is made out to."""
    from cryptography import x509

    certificate = x509.load_pem_x509_certificate(pem)
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    addresses = map(str, names.get_values_for_type(x509.IPAddress))
    return (*names.get_values_for_type(x509.DNSName), *addresses)


def certificate_lifetime(pem: bytes) -> tuple[datetime.datetime, datetime.datetime]:
    """From when until when a certificate is good."""
    from cryptography import x509

    certificate = x509.load_pem_x509_certificate(pem)
    return certificate.not_valid_before_utc, certificate.not_valid_after_utc


def self_signed(names: Sequence[str]) -> tuple[bytes, bytes]:
    """A certificate for these names and addresses, and its key, in PEM."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0][:LONGEST_COMMON_NAME])])
    begins = datetime.datetime.now(datetime.UTC) - CLOCKS_DIFFER
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + VALID_FOR)
        .add_extension(x509.SubjectAlternativeName([_general_name(name) for name in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return certificate.public_bytes(pem), private


def _general_name(name: str) -> x509.GeneralName:
    from cryptography import x509

    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


@contextmanager
def in_memory(content: bytes) -> Iterator[str]:
    """A path at which content can be read meanwhile; where the system can, it never touches a disk."""
    if hasattr(os, "memfd_create"):
        number = os.memfd_create("tls")
        try:
            os.write(number, content)
            yield f"/proc/self/fd/{number}"
        finally:
            os.close(number)
        return
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        yield file.name
