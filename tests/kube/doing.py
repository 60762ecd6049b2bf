"""A performer with a played server, and decisions to give it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from kube.played_server import PlayedServer
from mooring.engine.decisions import Bind, Decision, Evict, Wait
from mooring.engine.engine import Engine
from mooring.engine.events import BindFailed, Bound, Event, NodeAdded
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import Plugin
from mooring.framework.running.binding import BindingState
from mooring.kube.client import Client
from mooring.kube.http.call_slots import Slots
from mooring.kube.perform.performer import KubePerformer
from mooring.kube.record.recorder import Recorder
from mooring.model.objects import Pod
from mooring.plugins.catalogue import plans_with
from mooring.testing import node, pod

NOW_NS = 1_700_000_000_123_456_789


def a_pod(name: str, uid: str = "", **meta: Any) -> Pod:
    built = pod(name).build()
    metadata = msgspec.structs.replace(built.metadata, uid=uid or f"uid-{name}", **meta)
    return msgspec.structs.replace(built, metadata=metadata)


class Doing:
    """Everything that carries out decisions; `told` is what the engine hears."""

    def __init__(self, policies: Sequence[type[Plugin]] = (), *, slots: int = 100, **options: Any) -> None:
        self.server = PlayedServer()
        self.client = Client(self.server, random=lambda: 0.0)
        self.slots = Slots(slots)
        loop = asyncio.get_running_loop()
        self.recorder = Recorder(
            self.client, "host", slots=self.slots, now_ns=lambda: NOW_NS, clock=loop.time
        )
        self.told: list[Event] = []
        self.performer = KubePerformer(
            self.client,
            self.told.append,
            recorder=self.recorder,
            binding_state=self.binding_state,
            slots=self.slots,
            **options,
        )
        plans, registry = plans_with(policies, {}, {})
        self.engine = Engine(plans, registry)
        self.engine.handle(NodeAdded(node("n1").build()), 0.0)
        self.engine.attach(self.performer.api)
        self.profile = next(iter(self.engine.profiles.values()))

    def bind(self, pod: Pod, node_name: str = "n1", **more: Any) -> Bind:
        return Bind(pod, node_name, self.profile.name, 0, **more)

    def binding_state(self, bind: Bind) -> BindingState:
        return BindingState(self.profile, Cycle(self.profile.name, 0.0))

    async def do(self, *decisions: Decision) -> list[Event]:
        """Carries decisions out to their end."""
        for decision in decisions:
            self.performer.perform(decision)
        await self.settled()
        return self.told

    async def settled(self) -> None:
        await self.performer._finished()

    async def events(self) -> list[dict[str, Any]]:
        assert await self.recorder.flush(60.0) == 0
        return self.server.events


def wait_for(pod: Pod, message: str = "no room", nominated: str | None = None) -> Wait:
    return Wait(pod, "Unschedulable", message, nominated=nominated)


def evict(victim: Pod, preemptor: Pod) -> Evict:
    what = "default-scheduler: preempting to accommodate a higher priority pod"
    return Evict(victim, preemptor.key, "PreemptionByScheduler", what, "n1", preemptor)


def failures(told: Sequence[Event]) -> list[str]:
    return [event.message for event in told if isinstance(event, BindFailed)]


def bound(told: Sequence[Event]) -> list[str]:
    return [event.pod.name for event in told if isinstance(event, Bound)]
