"""Whether Mooring thinks the same nodes the best as kube-scheduler does, pod by pod.

kube-scheduler's code, scoring all nodes, tells for each pod which nodes are best and which of them it takes.
Mooring decides the same pod on the same cluster and then takes the same node, so that both go on alike.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.peer.ours import Things, confirm, fill, read
from benchmarks.peer.why import Parts, differences, their_parts
from mooring.cluster.view import NodeView
from mooring.engine.decisions import Bind
from mooring.engine.engine import Engine
from mooring.engine.events import PodAdded, PodDeleted
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import Plugin
from mooring.model.objects import Pod
from mooring.plugins.catalogue import plans_with

EACH_PROGRESS = 500
SHOWN_NODES = 5


class Choice(msgspec.Struct, frozen=True):
    """The best nodes, their score, and the one taken; no node at all if the pod fits nowhere."""

    pod: str
    node: str
    best: list[str]
    total: int
    feasible: int  # nodes
    sum: int  # of the scores of all of them


class Mismatch(msgspec.Struct, frozen=True):
    """Where the two differ first."""

    case: str
    pod: str
    theirs: str
    ours: str
    why: list[str]  # plugin by plugin; nothing if each by itself says the same when it is asked afresh


class Compared(msgspec.Struct, frozen=True):
    """How a case came out. After a mismatch the clusters would differ, so it ends there."""

    case: str
    nodes: int
    pods: int
    unfit: int
    mismatch: Mismatch | None = None


class Follow(Plugin):
    """Breaks ties in favour of one node, and remembers between which."""

    wanted = ""
    asked: set[str] = set()

    def score(self, cycle: Cycle, pod: Pod, node: NodeView) -> int:
        Follow.asked.add(node.name)
        return 100 if node.name == Follow.wanted else 0


class Ours:
    """An engine whose ties are broken by `Follow`."""

    def __init__(self, things: Things) -> None:
        plans, registry = plans_with((), {}, {})
        registry.add(Follow)
        following = [msgspec.structs.replace(plan, ties=Follow.name) for plan in plans]
        self._engine = Engine(following, registry, keep_scores=True)
        fill(self._engine, things)
        self._nodes = len(things.nodes)

    def choose(self, pod: Pod, wanted: str) -> Choice:
        """Decides the pod, and takes the wanted node when it is among the best."""
        Follow.wanted, Follow.asked = wanted, set()
        self._engine.handle(PodAdded(pod), 0.0)
        decisions = self._engine.schedule(0.0) or []
        node = next((each.node for each in decisions if type(each) is Bind), "")
        confirm(self._engine, decisions)
        best = sorted(Follow.asked or {node} - {""})
        totals = self._engine.scores.pop(pod.key, {}).values()
        if not node:
            self._engine.handle(PodDeleted(pod), 0.0)
        return Choice(pod.key, node, best, max(totals, default=0), len(totals), sum(totals))

    def parts(self, pod: Pod) -> Parts:
        """What each plugin gives each node for the pod that was decided last."""
        story = self._engine.story(pod.key, self._nodes)
        return {} if story is None else {each.node: each.parts for each in story.best}


def compare(case: str, program: Path, file: Path, progress: Callable[[int], None]) -> Compared:
    things = read(file)
    ours, done, unfit = Ours(things), 0, 0
    for pod, theirs in zip(things.pods, their_choices(program, file, len(things.pods)), strict=True):
        chosen = ours.choose(pod, theirs.node)
        done += 1
        unfit += not theirs.node
        if done % EACH_PROGRESS == 0:
            progress(done)
        if chosen != theirs:
            why = list(differences(their_parts(program, file, done), ours.parts(pod)))
            mismatch = Mismatch(case, theirs.pod, told(theirs, chosen), told(chosen, theirs), why)
            return Compared(case, len(things.nodes), done, unfit, mismatch)
    return Compared(case, len(things.nodes), done, unfit)


def their_choices(program: Path, file: Path, pods: int) -> Iterator[Choice]:
    line = [str(program), "ties", "-file", str(file), "-pods", str(pods)]
    with subprocess.Popen(line, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        try:
            for said in running.stdout:
                yield msgspec.json.decode(said, type=Choice)
        finally:
            running.terminate()
    if running.returncode > 0:
        raise subprocess.CalledProcessError(running.returncode, line)


def told(one: Choice, other: Choice) -> str:
    """What one of them says, and what it alone says."""
    alone = sorted(set(one.best) - set(other.best))
    named = f", of which {_few(alone)} are its alone" if alone else ""
    return (
        f"{one.feasible} feasible nodes with {one.sum} in all, {len(one.best)} best with {one.total}{named}; "
        f"takes {json.dumps(one.node)}"
    )


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN_NODES]) + (" ..." if len(names) > SHOWN_NODES else "")
