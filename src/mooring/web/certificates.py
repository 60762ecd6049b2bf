"""The server's side of TLS: a certificate from files, or one signed by itself, and clients' certificates.

Files are looked at again from time to time, so that a renewed certificate is used without a restart.
A certificate of our own stays in memory unless there is a folder to keep it in.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import ssl
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from mooring.errors import ConfigError

if TYPE_CHECKING:
    from cryptography import x509

PAIR_NAME = "kube-scheduler"  # of the files kept in --cert-dir
VALID_FOR = datetime.timedelta(days=365)
CLOCKS_DIFFER = datetime.timedelta(hours=1)  # at most, between here and whoever connects
LOOK_EVERY_S = 60.0
LONGEST_COMMON_NAME = 64


class ServerTls:
    """The context connections are made with. `refresh` takes in what changed in the files."""

    def __init__(self, cert: Path, key: Path, client_ca: Path | None, clock: Callable[[], float]) -> None:
        self._cert, self._key = cert, key
        self._clock = clock
        self._loaded: tuple[float, float] | None = None
        self._next_look = 0.0
        self.context = _context(client_ca)
        self._load()

    def refresh(self) -> None:
        """Cheap enough to be called for every request: files are looked at once a minute."""
        if self._clock() >= self._next_look:
            with suppress(OSError, ssl.SSLError):  # half written: the old one serves until the next look
                self._load()

    def _load(self) -> None:
        self._next_look = self._clock() + LOOK_EVERY_S
        written = (self._cert.stat().st_mtime, self._key.stat().st_mtime)
        if written != self._loaded:
            self.context.load_cert_chain(self._cert, self._key)
            self._loaded = written


class OwnTls:
    """A certificate made now, for as long as the process lives."""

    def __init__(self, names: Sequence[str], client_ca: Path | None) -> None:
        self.context = _context(client_ca)
        cert, key = self_signed(names)
        with in_memory(cert + key) as path:
            self.context.load_cert_chain(path)

    def refresh(self) -> None:
        """Nothing changes."""


def server_tls(
    *,
    cert_file: Path | None,
    key_file: Path | None,
    cert_dir: Path | None,
    client_ca_file: Path | None,
    names: Sequence[str],
    clock: Callable[[], float],
) -> ServerTls | OwnTls:
    """TLS from the files given, from a pair kept in a folder (made now if it is not there), or in memory."""
    if bool(cert_file) != bool(key_file):
        raise ConfigError.at("", "--tls-cert-file and --tls-private-key-file go together: give both or none.")
    try:
        if cert_file and key_file:
            return ServerTls(cert_file, key_file, client_ca_file, clock)
        if cert_dir is None:
            return OwnTls(names, client_ca_file)
        return ServerTls(*kept_pair(cert_dir, names), client_ca_file, clock)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError.at("", f"the serving certificate cannot be used: {error}") from error


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


def _context(client_ca: Path | None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if client_ca is not None:
        context.load_verify_locations(client_ca)
        context.verify_mode = ssl.CERT_OPTIONAL
    return context
