"""Kinds of values that the flags of `mooring run` take, as Go writes them."""

from __future__ import annotations

import ssl
from pathlib import Path

from mooring.cli.values import ReadBy
from mooring.errors import did_you_mean
from mooring.logs.verbosity import MOST
from mooring.web.ciphers import OF_TLS_13, SUITES, VERSIONS
from mooring.web.tls import Pair


def _words(text: str) -> tuple[str, ...]:
    """Words with commas between them."""
    return tuple(word for word in map(str.strip, text.split(",")) if word)


def _cipher_suites(text: str) -> tuple[str, ...]:
    """Cipher suites by Go's names."""
    names = _words(text)
    for name in names:
        if name not in SUITES and name not in OF_TLS_13:
            near = did_you_mean(name, [*SUITES, *OF_TLS_13])
            raise ValueError(f"Cipher suite {name} not supported or doesn't exist.{near}")
    return names


def _tls_version(text: str) -> ssl.TLSVersion:
    """A version of TLS by Go's name."""
    if text not in VERSIONS:
        raise ValueError(f'unknown tls version "{text}": it is one of {", ".join(VERSIONS)}')
    return VERSIONS[text]


def _certificate_and_key(text: str) -> Pair:
    """`cert,key`, or `cert,key:name,name`."""
    files, _, names = text.partition(":")
    certificate, comma, key = files.partition(",")
    if not comma or not certificate or not key or "," in key:
        raise ValueError("expected comma separated certificate and key file paths")
    return Pair(Path(certificate), Path(key), tuple(name for name in names.split(",") if name))


def _verbosity(text: str) -> int:
    """0 to 10; more is as much as there is. `-v=2`, as Go takes it, is `-v 2`."""
    level = text.removeprefix("=")
    if not level.isascii() or not level.isdecimal():
        raise ValueError(f'"{text}" is not a level from 0 to 10')
    return min(int(level[:9]), MOST)


def _verbosities_of_modules(text: str) -> tuple[tuple[str, int], ...]:
    """`pattern=N,...`: verbosities of single modules."""
    found = []
    for part in _words(text):
        pattern, _, level = part.partition("=")
        if not pattern or not level.isdecimal():
            raise ValueError(f'"{part}" has to be pattern=N')
        found.append((pattern, min(int(level[:9]), MOST)))
    return tuple(found)


WORDS = ReadBy("strings", _words)
CIPHER_SUITES = ReadBy("strings", _cipher_suites)
TLS_VERSION = ReadBy("version", _tls_version)
CERTIFICATE_AND_KEY = ReadBy("pair", _certificate_and_key)
VERBOSITY = ReadBy("level", _verbosity)
VERBOSITIES_OF_MODULES = ReadBy("pattern=N,...", _verbosities_of_modules)
