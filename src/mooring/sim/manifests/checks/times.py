"""Mistakes in the annotations that say when things happen in a simulation."""

from __future__ import annotations

from collections.abc import Iterator

from mooring.config.durations import parse_duration
from mooring.errors import Mistake, did_you_mean
from mooring.sim.manifests.located_value import Spot
from mooring.sim.world.workloads import ARRIVES_AT, LEAVES_AT, TIME_ANNOTATIONS

PREFIX = "sim.mooring.io/"


def time_annotations(metadata: Spot, *, on_node: bool = False) -> Iterator[Mistake]:
    seconds: dict[str, float] = {}
    for annotation in metadata.child("annotations").entries():
        key = str(annotation.path[-1])
        if key.startswith(PREFIX):
            yield from _annotation(annotation, key, on_node, seconds)
    if LEAVES_AT in seconds and seconds[LEAVES_AT] <= seconds.get(ARRIVES_AT, 0.0):
        yield metadata.child("annotations", LEAVES_AT).wrong("is not after the node arrives")


def _annotation(annotation: Spot, key: str, on_node: bool, seconds: dict[str, float]) -> Iterator[Mistake]:
    """Checks one annotation and notes its seconds when it is right."""
    if key not in TIME_ANNOTATIONS:
        advice = did_you_mean(key, TIME_ANNOTATIONS) or f" There are {', '.join(TIME_ANNOTATIONS)}."
        yield Mistake(annotation.place, f'no annotation is named "{key}".{advice}')
    elif key == LEAVES_AT and not on_node:
        yield annotation.note(" has a meaning on a Node only.")
    elif isinstance(annotation.value, str):
        try:
            seconds[key] = parse_duration(annotation.value)
        except ValueError as error:
            yield annotation.note(f": {error}")
        if seconds.get(key, 0.0) < 0:
            yield annotation.wrong("is negative")
