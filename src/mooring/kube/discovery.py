"""Finds out where the API server keeps a kind that is not one of Kubernetes' own."""

from __future__ import annotations

import msgspec

from mooring.errors import ConfigError, NotFound
from mooring.kube.client import Client
from mooring.kube.resources import BY_KIND, Resource

FORM = "is not the name of a kind of Kubernetes, nor of the form group/version/plural"


class Reference(msgspec.Struct, frozen=True):
    """A kind by its group and version, and its plural (`podgroups`) or its kind (`PodGroup`)."""

    group: str
    version: str
    name: str

    @property
    def path(self) -> str:
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    @property
    def built_in(self) -> Resource | None:
        """The resource, when it is one that is known without asking."""
        for each in BY_KIND.values():
            same_group = (each.group, each.version) == (self.group, self.version)
            if same_group and self.name in (each.plural, each.kind):
                return each
        return None


def parse(text: str) -> Reference:
    """`group/version/plural`, or `version/plural` of the core group."""
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(parts):
        raise ConfigError.at("", f'"{text}" {FORM}')
    group = parts[0] if len(parts) == 3 else ""
    return Reference(group, parts[-2], parts[-1])


class _ApiResource(msgspec.Struct, frozen=True):
    name: str
    kind: str = ""
    namespaced: bool = False


class _ApiResources(msgspec.Struct, frozen=True):
    resources: tuple[_ApiResource, ...] | None = None


_decode = msgspec.json.Decoder(_ApiResources).decode


async def find(client: Client, wanted: Reference) -> Resource | None:
    """Where the kind is; None as long as it is not installed."""
    if wanted.built_in is not None:
        return wanted.built_in
    try:
        answer = _decode(await client.read(wanted.path))
    except NotFound:
        return None
    for each in answer.resources or ():
        if wanted.name in (each.name, each.kind) and "/" not in each.name:
            return Resource(wanted.group, wanted.version, each.name, each.kind, each.namespaced)
    return None
