"""The same decisions as kube-scheduler: 1,200 of its own, reproduced to the last point of score.

`decisions.jsonl.gz` holds random clusters with what kube-scheduler 1.36.4's code answered: the total
score of every feasible node for each pending pod, each judged on its own.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mooring.engine.decisions import Bind
from mooring.engine.engine import Engine
from mooring.engine.events import Bound, NodeAdded, ObjectAdded, PodAdded, PodDeleted
from mooring.model.objects import Node, Object, ObjectMeta, Pod
from mooring.plugins.catalogue import plans_with

FILE = Path(__file__).parent / "decisions.jsonl.gz"
PARTS = 8


def clusters(part: int) -> Iterator[tuple[int, dict[str, Any]]]:
    with gzip.open(FILE, "rt") as lines:
        for number, line in enumerate(lines):
            if number % PARTS == part:
                yield number, json.loads(line)


def engine_of(cluster: dict[str, Any], *, kept: bool) -> Engine:
    plans, registry = plans_with([], {}, {})
    engine = Engine(plans, registry, keep_scores=True)
    engine.placer.keep_evaluations = kept
    for service in cluster["Services"] or []:
        meta = msgspec.convert(service["metadata"], ObjectMeta)
        engine.handle(ObjectAdded(Object(api_version="v1", kind="Service", metadata=meta, data=service)), 0.0)
    for node in cluster["Nodes"]:
        engine.handle(NodeAdded(msgspec.convert(_without_nulls(node), Node)), 0.0)
    for pod in cluster["Pods"] or []:
        engine.handle(PodAdded(msgspec.convert(_without_nulls(pod), Pod)), 0.0)
    return engine


def judged(engine: Engine, wanted: dict[str, Any]) -> dict[str, int]:
    """Totals of the feasible nodes, with the pod taken away again."""
    pod = msgspec.convert(_without_nulls(wanted), Pod)
    engine.handle(PodAdded(pod), 0.0)
    for decision in engine.schedule(0.0) or ():
        if isinstance(decision, Bind):
            engine.handle(Bound(pod, decision.node), 0.0)
    engine.handle(PodDeleted(pod), 0.0)
    return engine.scores.pop(pod.key, {})


def _without_nulls(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _without_nulls(value) for key, value in data.items() if value is not None}
    return [_without_nulls(value) for value in data] if isinstance(data, list) else data


@pytest.mark.parametrize("kept", [False, True], ids=["fresh", "kept"])
@pytest.mark.parametrize("part", range(PARTS))
def test_same_feasible_nodes_and_same_totals(part: int, kept: bool) -> None:
    for number, cluster in clusters(part):
        engine = engine_of(cluster, kept=kept)
        for wanted, scores in zip(cluster["Pending"], cluster["Scores"], strict=True):
            answers = [judged(engine, wanted) for _ in range(2 if kept else 1)]  # kept from the second on
            assert answers[-1] == scores, f"cluster {number}, pod {wanted['metadata']['name']}"
