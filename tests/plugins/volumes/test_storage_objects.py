"""Storage objects are read once, as long as they are there."""

from __future__ import annotations

from collections import deque

from mooring.model.objects import Object, ObjectMeta
from mooring.plugins.volumes.storage_objects import FEW, ReadOnce

THERE = 5 * FEW


def claim(number: int) -> Object:
    return Object(api_version="v1", kind="Claim", metadata=ObjectMeta(name=f"c{number}"), data={})


def test_objects_that_are_gone_are_forgotten_and_others_stay() -> None:
    reads = list[str]()
    read = ReadOnce(lambda found: reads.append(found.key))
    there: deque[Object] = deque(maxlen=THERE)
    for number in range(4 * THERE):
        there.append(claim(number))
        read(there[-1], there)
    assert len(read) <= 2 * THERE + FEW
    known = len(reads)
    for found in there:
        read(found, there)
    assert len(reads) == known == 4 * THERE


def test_an_object_that_changed_is_read_anew() -> None:
    read = ReadOnce(lambda found: found.data.get("size"))
    assert read(claim(1)) is None
    assert read(Object(api_version="v1", kind="Claim", metadata=ObjectMeta(name="c1"), data={"size": 3})) == 3
    assert len(read) == 1
