"""What is gone is forgotten: after one-offs of every variety, the engine holds as much as it held before.

Nobody names the tables here. Everything that can be reached from the engine is walked, so a table that
somebody adds, and that only ever grows, is found as well. Tables that know a certain number of what was met
lately are made small first.
"""

from __future__ import annotations

import gc
import types
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from typing import Any
from weakref import WeakValueDictionary, ref

import msgspec
import numpy as np
import pytest

from mooring.cluster import changes, charge, counts, journal, labelsets, nodes
from mooring.engine import story
from mooring.engine.placement import around_nominated as nominated
from mooring.engine.placement import classes, nominator, partly_kept, verdicts
from mooring.kube.decode import fragments
from mooring.plugins import kept
from mooring.plugins.preemption import plugin as preemption
from mooring.plugins.topology import interpod, spread
from mooring.plugins.volumes import assumed
from mooring.plugins.volumes import storage_objects as volume_kinds
from mooring.room.for_pod import pod_kinds as kinds
from mooring.room.for_pod import single_row as single
from mooring.workloads.dialects import koordinator
from one_offs import VARIETIES, OneOffs

SMALL = 8
LIMITS = (
    (changes, "REMEMBERED"),
    (charge, "REMEMBERED"),
    (counts, "ASKED_LATELY"),
    (counts, "IDLE_TERMS"),
    (labelsets, "UNUSED_SETS"),
    (nodes, "BILLS"),
    (labelsets, "UNUSED_SELECTORS"),
    (classes, "KNOWN"),
    (nominated, "CLASSES_KNOWN"),
    (verdicts, "VERDICTS_KEPT"),
    (nominator, "LEVELS_KNOWN"),
    (nominator, "CHANGES_KNOWN"),
    (partly_kept, "ROWS_KEPT"),
    (story, "NOTES_KEPT"),
    (story, "GONE_KEPT"),
    (journal, "KEEP"),
    (fragments, "MOST"),
    (kept, "MOST"),
    (koordinator, "REMEMBERED"),
    (kinds, "SPARE"),
    (single, "STATES_KNOWN"),
    (preemption, "PREEMPTORS_KNOWN"),
    (volume_kinds, "FEW"),
    (assumed, "RECENT"),
    (interpod, "REMEMBERED"),
    (spread, "REMEMBERED"),
)
READ_ONCE = [each for each in vars(volume_kinds).values() if isinstance(each, volume_kinds.ReadOnce)]
TABLES = (dict, list, set, deque, OrderedDict, WeakValueDictionary, frozenset, tuple, np.ndarray, bytes, str)
PASSED_OVER = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, int, float, ref)


def tables(root: object) -> Counter[str]:
    """How many entries there are in tables reachable from an object, by the way to them."""
    sizes: Counter[str] = Counter()
    met: set[int] = set()
    waiting: deque[tuple[str, Any]] = deque([("engine", root)])
    keep = []
    while waiting:
        way, found = waiting.popleft()
        if id(found) in met or isinstance(found, PASSED_OVER):
            continue
        met.add(id(found))
        keep.append(found)
        if isinstance(found, np.ndarray):
            sizes[way] += found.size
        elif isinstance(found, str | bytes):
            continue
        elif isinstance(found, TABLES):
            sizes[way] += len(found)
        waiting.extend(_inside(way, found))
    return sizes


def _inside(way: str, found: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(found, types.MethodType):
        yield way, found.__self__
    elif isinstance(found, dict | WeakValueDictionary):
        for key, value in list(found.items()):
            yield f"{way}{{}}", key
            yield f"{way}[]", value
    elif isinstance(found, list | tuple | set | frozenset | deque):
        for each in list(found):
            yield f"{way}[]", each
    elif isinstance(found, msgspec.Struct):
        for name in found.__struct_fields__:
            yield f"{type(found).__name__}.{name}", getattr(found, name, None)
    else:
        for name, value in _attributes(found):
            yield f"{type(found).__name__}.{name}", value


def _attributes(found: Any) -> Iterator[tuple[str, Any]]:
    yield from list(getattr(found, "__dict__", {}).items())
    for cls in type(found).__mro__:
        for name in getattr(cls, "__slots__", ()):
            if name != "__weakref__" and hasattr(found, name):
                yield name, getattr(found, name)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> OneOffs:
    for module, name in LIMITS:
        assert isinstance(getattr(module, name), int)
        monkeypatch.setattr(module, name, SMALL)
    for read in READ_ONCE:
        monkeypatch.setattr(read, "_most", SMALL)
    world = OneOffs()
    world.engine.placer.kept.most_bytes = 0
    return world


def played(world: OneOffs, rounds: int) -> Counter[str]:
    for _ in range(rounds):
        world.play(4 * len(VARIETIES))
    world.all_go()
    gc.collect()
    return tables(world.engine) + tables(world.decoders) + tables(READ_ONCE)


def test_what_is_gone_is_forgotten(world: OneOffs) -> None:
    played(world, 3)
    before = played(world, 2)
    after = played(world, 6)
    world.engine.check()
    grown = {way: (before[way], size) for way, size in after.items() if size > before[way] * 1.3 + 3 * SMALL}
    assert not grown
    assert after.total() < before.total() * 1.1
    assert world.placed > world.pods // 2


def test_nothing_waits_for_cycles_to_be_looked_for(world: OneOffs) -> None:
    """What an attempt that ends without a place has made would stay, and its pod with it."""
    for _ in range(2):
        gc.collect()
        gc.disable()
        world.play(4 * len(VARIETIES))
        found = gc.collect()
        gc.enable()
    assert found < world.pods // 2
