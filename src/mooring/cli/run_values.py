"""Kinds of values that the flags of `mooring run` take, as Go writes them."""

from __future__ import annotations

import ssl
from pathlib import Path

import click

from mooring.errors import did_you_mean
from mooring.logs.verbosity import MOST
from mooring.web.ciphers import OF_TLS_13, SUITES, VERSIONS
from mooring.web.tls import Pair


class ListType(click.ParamType[tuple[str, ...]]):
    """Words with commas between them."""

    name = "strings"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        return tuple(word for word in map(str.strip, str(value).split(",")) if word)


class CiphersType(ListType):
    """Cipher suites by Go's names."""

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, ...]:
        names = super().convert(value, param, ctx)
        for name in names:
            if name not in SUITES and name not in OF_TLS_13:
                near = did_you_mean(name, [*SUITES, *OF_TLS_13])
                self.fail(f"Cipher suite {name} not supported or doesn't exist.{near}", param, ctx)
        return names


class TlsVersionType(click.ParamType[ssl.TLSVersion]):
    """A version of TLS by Go's name."""

    name = "version"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> ssl.TLSVersion:
        if isinstance(value, ssl.TLSVersion):
            return value
        if str(value) not in VERSIONS:
            self.fail(f'unknown tls version "{value}": it is one of {", ".join(VERSIONS)}', param, ctx)
        return VERSIONS[str(value)]


class SniType(click.ParamType[Pair]):
    """`cert,key`, or `cert,key:name,name`."""

    name = "pair"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Pair:
        if isinstance(value, Pair):
            return value
        files, _, names = str(value).partition(":")
        certificate, comma, key = files.partition(",")
        if not comma or not certificate or not key or "," in key:
            self.fail("expected comma separated certificate and key file paths", param, ctx)
        return Pair(Path(certificate), Path(key), tuple(name for name in names.split(",") if name))


class VerbosityType(click.ParamType[int]):
    """0 to 10; more is as much as there is. `-v=2`, as Go takes it, is `-v 2`."""

    name = "level"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).removeprefix("=")
        if not text.isascii() or not text.isdecimal():
            self.fail(f'"{value}" is not a level from 0 to 10', param, ctx)
        return min(int(text[:9]), MOST)


class ModulesType(click.ParamType[tuple[tuple[str, int], ...]]):
    """`pattern=N,...`: verbosities of single modules."""

    name = "pattern=N,..."

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[tuple[str, int], ...]:
        if isinstance(value, tuple):
            return value
        found = []
        for part in filter(None, map(str.strip, str(value).split(","))):
            pattern, _, level = part.partition("=")
            if not pattern or not level.isdecimal():
                self.fail(f'"{part}" has to be pattern=N', param, ctx)
            found.append((pattern, min(int(level[:9]), MOST)))
        return tuple(found)
