"""A cluster and the engine that schedules it, for tests: no server, no clock, no waiting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mooring.engine.decisions import IN_LINE, Bind, Decision, Evict, Wait
from mooring.engine.engine import Engine
from mooring.engine.events import Bound, NodeAdded, NodeChanged, NodeDeleted, PodAdded, PodDeleted, Tick
from mooring.engine.story import Story
from mooring.errors import InvariantError
from mooring.framework.api.plugin import Plugin
from mooring.model.objects import Node, Pod
from mooring.plugins.catalogue import plans_with
from mooring.testing.builders import NodeBuilder, PodBuilder


class World:
    """Pods go in, placements come out. Every `schedule` runs until no pod is ready."""

    def __init__(
        self,
        things: Sequence[NodeBuilder | PodBuilder],
        policies: Sequence[type[Plugin]] = (),
        args: Mapping[str, object] | None = None,
        weights: Mapping[str, int] | None = None,
        seed: int = 0,
    ) -> None:
        plans, registry = plans_with(policies, args or {}, weights or {})
        self.engine = Engine(plans, registry, seed=seed, keep_scores=True)
        self.now = 0.0
        self.placements: dict[str, str] = {}
        self.messages: dict[str, str] = {}
        self.patches: dict[str, object] = {}
        self.evicted: list[str] = []
        for thing in things:
            self.add(thing)

    def add(self, *things: NodeBuilder | PodBuilder) -> None:
        """Adds nodes, pods that run already, and pods that want a place (placed by the next `run`)."""
        for thing in things:
            built = thing.build()
            if isinstance(built, Node):
                self._perform(self.engine.handle(NodeAdded(built), self.now))
                continue
            if built.spec.node_name:
                self.placements[built.key] = built.spec.node_name
            self._perform(self.engine.handle(PodAdded(built), self.now))

    def schedule(self, wanted: PodBuilder) -> str | None:
        """Where the pod goes, or None if it waits: `message` then says why."""
        self.add(wanted)
        self.run()
        return self.placements.get(wanted.build().key)

    def run(self) -> None:
        """Schedules until no pod is ready."""
        while (decisions := self.engine.schedule(self.now)) is not None:
            self._perform(decisions)

    def advance(self, seconds: float) -> None:
        """Lets time pass, second by second, scheduling whatever becomes ready."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(self.now + 1.0, end)
            self._perform(self.engine.handle(Tick(), self.now))
            self.run()

    def change(self, changed: NodeBuilder) -> None:
        """The node of that name is like this from now on."""
        self._perform(self.engine.handle(NodeChanged(changed.build()), self.now))
        self.run()

    def remove(self, gone: NodeBuilder | PodBuilder) -> None:
        built = gone.build()
        event = NodeDeleted(built) if isinstance(built, Node) else PodDeleted(built)
        self._perform(self.engine.handle(event, self.now))
        if isinstance(built, Pod):
            self.placements.pop(built.key, None)
        self.run()

    def message(self, waiting: PodBuilder) -> str:
        """Why a pod waits, in the words its condition would carry."""
        wanted = waiting.build()
        words = self.engine.waits_for(wanted.uid)
        return (
            self.messages.get(wanted.key, "") if words is None or words.reason == IN_LINE else words.message
        )

    def scores(self, placed: PodBuilder) -> dict[str, int]:
        """Totals of all feasible nodes when the pod got its place."""
        return self.engine.scores.get(placed.build().key, {})

    def story(self, asked: PodBuilder) -> Story | None:
        return self.engine.story(asked.build().key)

    def check(self) -> None:
        """Raises unless the engine agrees with itself and no pod it placed over-commits a node."""
        self.engine.check()
        ours = {node_name for key, node_name in self.placements.items() if key in self.engine.scores}
        over = [text for text in self.engine.cluster.overcommitted() if text.split(":")[0] in ours]
        if over:
            raise InvariantError(f"over-committed: {', '.join(over)}")

    def _perform(self, decisions: list[Decision]) -> None:
        for decision in decisions:
            match decision:
                case Bind(pod, node_name, patch=patch):
                    self.placements[pod.key] = node_name
                    self.messages.pop(pod.key, None)
                    if patch:
                        self.patches[pod.key] = patch
                    self._perform(self.engine.handle(Bound(pod, node_name), self.now))
                    self._perform(self.engine.handle(PodAdded(pod.on_node(node_name)), self.now))
                case Wait(pod, _, message):
                    self.messages[pod.key] = message
                case Evict(pod, in_memory=False):
                    self.evicted.append(pod.key)
                    self.placements.pop(pod.key, None)
                    self._perform(self.engine.handle(PodDeleted(pod), self.now))


def cluster(
    *things: NodeBuilder | PodBuilder,
    policies: Sequence[type[Plugin]] = (),
    args: Mapping[str, object] | None = None,
    weights: Mapping[str, int] | None = None,
    seed: int = 0,
) -> World:
    """A world of these nodes and pods, scheduled by the default profile plus `policies`."""
    return World(things, policies, args, weights, seed)
