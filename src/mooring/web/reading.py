"""Reads a scheduler's numbers off: what its meter counted, and what its queue and cluster hold right now.

Reading happens between two decisions and in slices; writing the text of it can be left to a thread.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import msgspec

from mooring.cluster.pods import Hold
from mooring.engine.engine import Engine
from mooring.engine.queue.queued_pod import QueuedPod, Where
from mooring.framework.metrics import families as measures
from mooring.framework.metrics.families import FAMILIES, Family, Kind
from mooring.framework.metrics.meter import Labels, Meter

T = TypeVar("T")

SLICE = 5000  # pods looked at before others have a turn


class Buckets(msgspec.Struct, frozen=True):
    """A histogram: observations per bucket, not cumulative, and their sum."""

    counts: list[int]
    sum: float


class Reading(msgspec.Struct, frozen=True):
    """One family, with the value of each of its series."""

    family: Family
    series: list[tuple[Labels, float | Buckets]]


async def read(engine: Engine, meter: Meter) -> list[Reading]:
    """Everything there is to tell, as of now."""
    gauges: dict[Family, list[tuple[Labels, float]]] = {
        measures.PENDING_PODS: [((part,), float(size)) for part, size in engine.queue.sizes().items()],
        measures.GOROUTINES: [(("binding",), float(len(engine.binding)))],
        measures.CACHE_SIZE: await _cache_size(engine),
        measures.INFLIGHT_EVENTS: _counted(Counter((e.label,) for e in engine.queue.in_flight.events)),
        measures.UNSCHEDULABLE_PODS: await _unschedulable(engine),
    }
    return [
        Reading(family, list(gauges[family]) if family in gauges else _measured(family, meter))
        for family in FAMILIES
    ]


def _measured(family: Family, meter: Meter) -> list[tuple[Labels, float | Buckets]]:
    if family is measures.ATTEMPTS:  # every attempt is timed, so the times tell how many there were
        timed = meter.sampled_series(measures.ATTEMPT_SECONDS)
        return [(labels, float(sum(samples.counts))) for labels, samples in timed]
    if family is measures.POD_ATTEMPTS:
        return [((), _attempts(meter))]
    if family.kind is not Kind.HISTOGRAM:
        found = [(labels, float(value)) for labels, value in meter.counted(family)]
        return list(found) if found or family.labels else [((), 0.0)]
    series = [(labels, Buckets(s.counts, s.sum)) for labels, s in meter.sampled_series(family)]
    return [(labels, buckets) for labels, buckets in series if any(buckets.counts) or not labels]


def _attempts(meter: Meter) -> Buckets:
    """How many attempts pods needed: pods with few are counted by the label of how long it took them."""
    many = meter.samples(measures.POD_ATTEMPTS)
    counts, total = many.counts, many.sum
    for (label,), samples in meter.sampled_series(measures.POD_SLI_SECONDS):
        if label.isdecimal():
            pods, attempts = sum(samples.counts), int(label)
            place = sum(bound < attempts for bound in measures.POD_ATTEMPTS.buckets)
            counts[place] += pods
            total += pods * attempts
    return Buckets(counts, total)


def _counted(counter: Counter[Labels]) -> list[tuple[Labels, float]]:
    return [(labels, float(count)) for labels, count in sorted(counter.items())]


async def _cache_size(engine: Engine) -> list[tuple[Labels, float]]:
    placed = list(engine.cluster.pods.by_uid.values())
    assumed = 0
    for part in _slices(placed):
        assumed += sum(one.hold is Hold.ASSUMED for one in part)
        await asyncio.sleep(0)
    sizes = {"nodes": len(engine.cluster.nodes), "pods": len(placed), "assumed_pods": assumed}
    return [((kind,), float(size)) for kind, size in sizes.items()]


async def _unschedulable(engine: Engine) -> list[tuple[Labels, float]]:
    """Pods by who rejected them, until they are tried again."""
    found: Counter[Labels] = Counter()
    for part in _slices(list(engine.queue)):
        found.update(_rejections(part))
        await asyncio.sleep(0)
    return _counted(found)


def _rejections(pods: Iterable[QueuedPod]) -> Iterator[Labels]:
    for queued in pods:
        if queued.where is not Where.IN_FLIGHT:
            for plugin in queued.rejectors:
                yield plugin, queued.pod.spec.scheduler_name


def _slices(things: Sequence[T]) -> Iterator[Sequence[T]]:
    return (things[start : start + SLICE] for start in range(0, len(things), SLICE))
