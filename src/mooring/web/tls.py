"""The server's side of TLS: which certificate is shown to whom, and whose certificates are asked for.

Everything is looked at again from time to time: renewed files, and authorities that changed, are in use for
the connections that come afterwards.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from mooring.errors import ConfigError
from mooring.web.certificates import certificate_names_of, in_memory, kept_pair, self_signed
from mooring.web.ciphers import restrict

LOOK_EVERY_S = 60.0


class Pair(msgspec.Struct, frozen=True):
    """A certificate and its key, in files; for those who ask for one of `names` (`*` for a part of one)."""

    certificate: Path
    key: Path
    names: tuple[str, ...] = ()


class TlsSettings(msgspec.Struct, frozen=True, kw_only=True):
    cert_file: Path | None = None
    key_file: Path | None = None
    cert_dir: Path | None = None
    by_name: tuple[Pair, ...] = ()  # --tls-sni-cert-key
    least_version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    cipher_suites: tuple[str, ...] = ()


class ServerTls:
    """`context` is what a new connection is made with. ConfigError when the settings cannot be used."""

    def __init__(
        self,
        settings: TlsSettings,
        names: Sequence[str],
        authorities: Callable[[], bytes],
        clock: Callable[[], float],
    ) -> None:
        if bool(settings.cert_file) != bool(settings.key_file):
            raise ConfigError.at(
                "", "--tls-cert-file and --tls-private-key-file go together: give both or none."
            )
        self._settings = settings
        self._authorities = authorities
        self._clock = clock
        self._next_look = clock() + LOOK_EVERY_S
        try:
            self._own: bytes | Pair = self._certificate(names)
            self._made_of = self._sources()
            self._context = self._make()
        except (OSError, ValueError) as error:
            raise ConfigError.at("", f"the serving certificate cannot be used: {error}") from error

    def context(self) -> ssl.SSLContext:
        """Cheap enough for every connection: files are looked at once a minute."""
        if self._clock() >= self._next_look or self._authorities() != self._made_of[0]:
            self._next_look = self._clock() + LOOK_EVERY_S
            with suppress(OSError, ValueError):  # half written: the old one serves until the next look
                sources = self._sources()
                if sources != self._made_of:
                    self._context = self._make()
                    self._made_of = sources
        return self._context

    def _certificate(self, names: Sequence[str]) -> bytes | Pair:
        """The files given, a pair kept in a folder (made now if it is not there), or one in memory."""
        settings = self._settings
        if settings.cert_file and settings.key_file:
            return Pair(settings.cert_file, settings.key_file)
        if settings.cert_dir is not None:
            return Pair(*kept_pair(settings.cert_dir, names))
        return b"".join(self_signed(names))

    def _sources(self) -> tuple[bytes, tuple[float, ...]]:
        pairs = (*self._settings.by_name, *([self._own] if isinstance(self._own, Pair) else []))
        files = (file for pair in pairs for file in (pair.certificate, pair.key))
        return self._authorities(), tuple(file.stat().st_mtime for file in files)

    def _make(self) -> ssl.SSLContext:
        context = self._bare()
        if isinstance(self._own, Pair):
            context.load_cert_chain(self._own.certificate, self._own.key)
        else:
            with in_memory(self._own) as path:
                context.load_cert_chain(path)
        named = [self._named(pair) for pair in self._settings.by_name]

        def choose(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            for patterns, chosen in named:
                if name and any(fnmatchcase(name.lower(), pattern) for pattern in patterns):
                    connection.context = chosen
                    return

        if named:
            context.sni_callback = choose
        return context

    def _named(self, pair: Pair) -> tuple[tuple[str, ...], ssl.SSLContext]:
        context = self._bare()
        context.load_cert_chain(pair.certificate, pair.key)
        names = pair.names or certificate_names_of(pair.certificate.read_bytes())
        return tuple(name.lower() for name in names), context

    def _bare(self) -> ssl.SSLContext:
        """Clients may show a certificate, if there is an authority for them; they need not."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        restrict(context, self._settings.least_version, self._settings.cipher_suites)
        authorities = self._authorities()
        if authorities:
            context.load_verify_locations(cadata=authorities.decode("ascii", "ignore"))
            context.verify_mode = ssl.CERT_OPTIONAL
        return context
