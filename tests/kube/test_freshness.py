"""Whoever is told that it knows all that a list shows has missed nothing up to the moment of the list."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from mooring.kube.watch.freshness import Glimpse
from mooring.model.objects import Object, ObjectMeta


class Change(NamedTuple):
    """What happens to an object, or to one of another kind, which only moves the version on."""

    name: int
    is_gone: bool


CHANGES = st.lists(st.builds(Change, st.integers(0, 5), st.booleans()), max_size=30)
OTHER_KIND = 5


def objects_at(changes: list[Change]) -> dict[int, Object]:
    """The objects after some changes; each change has its number as its version."""
    there: dict[int, Object] = {}
    for version, (name, is_gone) in enumerate(changes, 1):
        if name == OTHER_KIND:
            continue
        there.pop(name, None)
        if not is_gone:
            meta = ObjectMeta(name=str(name), uid=str(name), resource_version=str(version))
            there[name] = Object(api_version="v1", kind="Thing", metadata=meta, data={})
    return there


def heard(changes: list[Change]) -> int:
    """The version of the last event of the kind: an object that is not there does not go."""
    last = 0
    for version, (name, is_gone) in enumerate(changes, 1):
        if name != OTHER_KIND and not (is_gone and name not in objects_at(changes[: version - 1])):
            last = version
    return last


@given(CHANGES, st.integers(0, 30), st.integers(0, 30))
def test_nothing_is_missed_by_who_is_sure(changes: list[Change], known_at: int, listed_at: int) -> None:
    listed = objects_at(changes[:listed_at])
    versions = [int(each.metadata.resource_version) for each in listed.values()]
    seen = Glimpse(frozenset(map(str, listed)), max(versions, default=0), min(listed_at, len(changes)))
    known, version = objects_at(changes[:known_at]), heard(changes[:known_at])
    is_up_to_date = version >= heard(changes[:listed_at])
    is_known = seen.is_known(known.values(), str(version))
    assert not is_known or is_up_to_date or known == listed
    if is_up_to_date:
        assert is_known
