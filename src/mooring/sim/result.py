"""What a simulation has to say, in the shape programs read.

`placements` has every pod that a node was found for or that was running already, also when it has
finished since; a pod that was evicted or lost with its node is there only if it was placed again.
`pending` has the pods the scheduler could not place. Waiting pods of another `schedulerName` are
left alone: they are in neither, but count in `summary.pods`, which is every pod there ever was.
"""

from __future__ import annotations

from typing import Any

import msgspec

from mooring.sim.gang_records import GangResult
from mooring.sim.not_acted_on import NotActedOn
from mooring.sim.usage import NodeUse, Sample
from mooring.sim.world.event_log import Recorded


class PendingPod(msgspec.Struct, frozen=True):
    """Why a pod waits: the message of its condition, the plugins that keep it, the node kept for it."""

    message: str
    plugins: tuple[str, ...] = ()
    nominated: str | None = None


class Failure(msgspec.Struct, frozen=True):
    """A plugin that failed instead of answering: with what at first, and for which pods."""

    message: str
    pods: tuple[str, ...]


class Summary(msgspec.Struct, frozen=True):
    nodes: int
    pods: int
    bound: int
    pending: int
    evicted: int
    end_time_s: float


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is over. Nodes, samples and events are for the report and not part of the public shape."""

    placements: dict[str, str]
    pending: dict[str, PendingPod]
    evicted: tuple[str, ...]
    patches: dict[str, dict[str, Any]]
    summary: Summary
    refused: dict[str, str] = {}  # pods that the API server does not take, and its words
    scores: dict[str, dict[str, int]] | None = None
    gangs: dict[str, GangResult] = {}
    network: dict[str, tuple[str, ...]] = {}  # node to the domains it is in, the widest first
    nodes: tuple[NodeUse, ...] = ()
    samples: tuple[Sample, ...] = ()
    events: tuple[Recorded, ...] = ()
    failures: dict[str, Failure] = {}  # by plugin
    from_before: frozenset[str] = frozenset()  # pods that come from a running cluster
    not_acted_on: tuple[NotActedOn, ...] = ()
    stopped: str = ""  # why the run was given up before its end, if it was


def to_data(result: Result) -> dict[str, Any]:
    """The public shape as plain data; `scores` only when they were asked for, the rest of what is
    optional when there is any."""
    data: dict[str, Any] = {
        "placements": result.placements,
        "pending": result.pending,
        "evicted": sorted(result.evicted),
        "patches": result.patches,
        "summary": result.summary,
    }
    if result.not_acted_on:
        data["not_acted_on"] = result.not_acted_on
    if result.stopped:
        data["stopped"] = result.stopped
    if result.failures:
        data["failures"] = result.failures
    if result.refused:
        data["refused"] = result.refused
    if result.gangs:
        data["gangs"] = result.gangs
    if result.scores is not None:
        data["scores"] = result.scores
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(data, order="sorted"))
    return plain


def to_json(result: Result) -> bytes:
    """The public shape as JSON: keys sorted, so equal runs give equal bytes."""
    return msgspec.json.format(msgspec.json.encode(to_data(result), order="sorted"), indent=2) + b"\n"
