"""Mistakes in what every object has: kind, apiVersion and a name."""

from __future__ import annotations

from collections.abc import Iterator

from mooring.errors import Mistake, did_you_mean
from mooring.sim.manifests.located_value import Spot
from mooring.sim.world.known_kinds import API_VERSIONS, KINDS_OF_VERSION, is_foreign_group, is_typed


def head_mistakes(spot: Spot) -> Iterator[Mistake]:
    """What keeps an object from being looked at any closer."""
    if not isinstance(spot.value, dict):
        yield Mistake(
            spot.place, "expected a Kubernetes object: a mapping with apiVersion, kind and metadata."
        )
        return
    for key in ("apiVersion", "kind"):
        yield from _text(spot.child(key))
    if spot.value.get("metadata") is not None and not isinstance(spot.value["metadata"], dict):
        yield Mistake(spot.child("metadata").place, "metadata is not a mapping.")
    elif not spot.child("metadata", "generateName").value:
        yield from _text(spot.child("metadata", "name"))


def kind_mistakes(spot: Spot) -> Iterator[Mistake]:
    """A kind that its API version does not have."""
    kind, api_version = spot.value["kind"], spot.value["apiVersion"]
    if is_typed(kind, api_version):
        return
    known = KINDS_OF_VERSION.get(api_version)
    group, slash, _ = api_version.partition("/")
    own = not is_foreign_group(api_version) or (slash and "." not in group)  # the groups of others have a dot
    if kind in API_VERSIONS and own:
        where = f'"{kind}" is a kind of "{API_VERSIONS[kind]}", not of "{api_version}".'
        yield Mistake(spot.child("apiVersion").place, where)
    elif known is not None and kind not in known:
        advice = did_you_mean(kind, known)
        yield Mistake(spot.child("kind").place, f'"{api_version}" has no kind "{kind}".{advice}')


def _text(spot: Spot) -> Iterator[Mistake]:
    if spot.value is None or spot.value == "":
        yield spot.missing()
    elif not isinstance(spot.value, str):
        yield spot.wrong("is not text; put it in quotes")
