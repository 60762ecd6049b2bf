"""Mooring's engine on the nodes and pods of one file: what it takes, as one JSON object.

    python -m benchmarks.peer.ours FILE [--pods N] [--warm-up N]

Objects are read as those of an API server are, before anything is measured. Measured is all the engine does
for a pod: taking it in, the queue, the whole scheduling cycle, and the confirmation of the bind.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter, process_time

import click
import msgspec

from mooring.engine.decisions import Bind, Decision
from mooring.engine.engine import Engine
from mooring.engine.events import Bound, NodeAdded, ObjectAdded, PodAdded
from mooring.kube.decode.decoders import Decoders
from mooring.kube.garbage_collection import settled
from mooring.kube.resources import REPLICA_SETS, SERVICES
from mooring.model.objects import Node, Object, Pod
from mooring.plugins.catalogue import plans_with

ARRIVE_TOGETHER = 20


class Kind(msgspec.Struct):
    kind: str


class Things(msgspec.Struct):
    """What a file holds: pods that wait are in the order of their arrival."""

    nodes: list[Node] = []
    there: list[Pod] = []
    pods: list[Pod] = []
    other: list[Object] = []


class Figures(msgspec.Struct, frozen=True):
    """What placing so many pods took; the peer tells the same."""

    pods: int
    bound: int
    wall_s: float
    cpu_s: float

    @property
    def pods_per_s(self) -> float:
        return self.pods / self.wall_s

    @property
    def cpu_ms_per_pod(self) -> float:
        return 1000 * self.cpu_s / self.pods


def read(file: Path, most: int | None = None) -> Things:
    things, decoders = Things(), Decoders()
    others = {each.kind: decoders.of(each) for each in (SERVICES, REPLICA_SETS)}
    for line in file.read_bytes().splitlines():
        kind = msgspec.json.decode(line, type=Kind).kind
        if kind == "Node":
            things.nodes.append(decoders.node(line))
        elif kind == "Pod":
            made = decoders.pod(line)
            (things.there if made.spec.node_name else things.pods).append(made)
        else:
            made_other = others[kind](line)
            assert isinstance(made_other, Object)
            things.other.append(made_other)
    things.pods = things.pods[:most]
    return things


def fill(engine: Engine, things: Things) -> None:
    for other in things.other:
        engine.handle(ObjectAdded(other), 0.0)
    for node in things.nodes:
        engine.handle(NodeAdded(node), 0.0)
    for pod in things.there:
        engine.handle(PodAdded(pod), 0.0)


def measure(things: Things, warm_up: int) -> Figures:
    engine = Engine(*plans_with((), {}, {}))
    fill(engine, things)
    warm_up = min(warm_up, len(things.pods))
    place_all(engine, things.pods[:warm_up])
    pods = things.pods[warm_up:]
    with settled():
        wall, cpu = perf_counter(), process_time()
        bound = place_all(engine, pods)
        return Figures(len(pods), bound, perf_counter() - wall, process_time() - cpu)


def place_all(engine: Engine, pods: Sequence[Pod]) -> int:
    bound = 0
    for start in range(0, len(pods), ARRIVE_TOGETHER):
        for pod in pods[start : start + ARRIVE_TOGETHER]:
            engine.handle(PodAdded(pod), 0.0)
        while (decisions := engine.schedule(0.0)) is not None:
            bound += confirm(engine, decisions)
    return bound


def confirm(engine: Engine, decisions: Sequence[Decision]) -> int:
    binds = [decision for decision in decisions if type(decision) is Bind]
    for bind in binds:
        engine.handle(Bound(bind.pod, bind.node), 0.0)
    return len(binds)


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--pods", type=click.IntRange(1), help="So many pods of the file, not all.")
@click.option("--warm-up", default=0, show_default=True, help="Pods placed before anything is measured.")
def ours(file: Path, pods: int | None, warm_up: int) -> None:
    """What Mooring's engine takes for the pods of FILE."""
    click.echo(msgspec.json.encode(measure(read(file, pods), warm_up)))


if __name__ == "__main__":
    ours()
