"""A scenario in simulation: what happens from outside, moment by moment, and the story that comes of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import msgspec

from e2e.api import Object
from mooring.app.making import make_engine, read_config
from mooring.config.load import SchedulerConfig
from mooring.engine.decisions import (
    ASKING_EXTENDER,
    HELD_BACK,
    IN_LINE,
    WAITING_AT_PERMIT,
    WAITING_AT_PRE_BIND,
    Evict,
)
from mooring.engine.events import Event, NodeAdded, NodeDeleted, ObjectAdded, PodAdded, PodDeleted
from mooring.framework.loading.registry import Registry
from mooring.model.objects import Pod
from mooring.plugins.catalogue import make_registry
from mooring.sim.manifests.manifests import read_manifests
from mooring.sim.simulation import Simulation

Verb = Literal["create", "delete", "finish", "evicted"]
AFTERWARDS_S = 20.0  # what comes later comes of time alone
NOT_THE_SCHEDULERS = ("FailedCreate",)


Standing = tuple[str, str, str]  # node, or reason and message of the condition


@dataclass(frozen=True)
class Action:
    """Something that somebody other than the scheduler does."""

    verb: Verb
    kind: str
    about: Object
    waits: bool = False  # a pod that wants a node


@dataclass
class Moment:
    """What happens at one moment, and how things stand afterwards: each pod's node, or why it has none."""

    second: int = 0
    actions: list[Action] = field(default_factory=list)
    places: dict[str, Standing] = field(default_factory=dict)
    since: dict[str, str] = field(default_factory=dict)  # when pods started


@dataclass(frozen=True)
class Told:
    """What is told of a pod: its node, or why it has none, and its Events."""

    node: str
    reason: str
    message: str
    events: frozenset[tuple[str, str]]


Story = dict[str, Told]
COUNT = re.compile(r"\b\d+(?=[ /])")


def uncounted(text: str) -> str:
    """A message without its numbers of nodes."""
    return COUNT.sub("N", text)


def uncounted_story(story: Story) -> Story:
    return {
        key: replace(
            told,
            message=uncounted(told.message),
            events=frozenset((reason, uncounted(message)) for reason, message in told.events),
        )
        for key, told in story.items()
    }


class Played(Simulation):
    """A simulation that keeps its script."""

    def __init__(self, *words: Any, **more: Any) -> None:
        super().__init__(*words, **more)
        self.moments: list[Moment] = []
        self.now_going_on = Moment()
        self.evicted: set[str] = set()
        self.uids: dict[str, str] = {}
        self.world.subscribe(self.note)

    def note(self, event: Event) -> None:
        match event:
            case NodeAdded(node):
                self._add("create", "Node", node)
            case NodeDeleted(node):
                self._add("delete", "Node", node)
            case ObjectAdded(found):
                self.now_going_on.actions.append(Action("create", found.kind, dict(found.data)))
            case PodAdded(pod):
                self.uids[pod.uid] = pod.key
                self._add("create", "Pod", pod, waits=not pod.spec.node_name)
            case PodDeleted(pod) if pod.status.phase == "Succeeded":
                self._add("finish", "Pod", pod)
            case PodDeleted(pod):
                self._add("evicted" if pod.uid in self.evicted else "delete", "Pod", pod)

    def _add(self, verb: Verb, kind: str, about: Any, *, waits: bool = False) -> None:
        raw = json.loads(msgspec.json.encode(about))
        self.now_going_on.actions.append(Action(verb, kind, {"kind": kind, **raw}, waits))

    def _carry_out(self, decision: Any) -> None:
        if isinstance(decision, Evict):
            self.evicted.add(decision.pod.uid)
        super()._carry_out(decision)

    def _look_around(self) -> None:
        super()._look_around()
        going_on, self.now_going_on = self.now_going_on, Moment()
        going_on.second = int(self.clock.now)
        going_on.places = {key: standing(_raw(pod)) for key, pod in self.world.pods.items()}
        going_on.since = {key: pod.status.start_time or "" for key, pod in self.world.pods.items()}
        if going_on.actions or not self.moments or self.moments[-1].places != going_on.places:
            self.moments.append(going_on)

    def depends_on_pace(self) -> bool:
        """Whether pods wait that something else is evicted for: which of them has backed off for long enough
        when the place is free is another matter where time passes at another pace."""
        for before, moment in pairwise(self.moments):
            if any(action.verb == "evicted" for action in moment.actions):
                waiting = [key for key, (_, reason, _) in before.places.items() if reason == "Unschedulable"]
                if len({key.rpartition("-")[0] if "gang-" in key else key for key in waiting}) > 1:
                    return True
        return False

    def story(self) -> Story:
        events = [
            (one.key, f"{one.type} {one.reason} {one.action}", one.message)
            for one in self.world.events
            if one.kind == "Pod" and one.reason not in NOT_THE_SCHEDULERS
        ]
        pods = {key: _raw(pod) for key, pod in self.world.pods.items()}
        return story_of(pods, events, self.uids)


HOLDS = frozenset({HELD_BACK, WAITING_AT_PERMIT, ASKING_EXTENDER, IN_LINE, WAITING_AT_PRE_BIND})


def story_of(pods: dict[str, Object], events: list[tuple[str, str, str]], uids: dict[str, str]) -> Story:
    """The story that pods and Events (whose, what, message) tell; pods are called by their keys. Whether a
    hold lasts long enough to be told of is up to the pace; of pods that still wait their conditions tell."""
    told: dict[str, set[tuple[str, str]]] = {}
    for key, reason, message in events:
        if reason.split()[1] in HOLDS:
            continue
        told.setdefault(key, set()).add((reason, _with_names(message, uids)))
    return {
        key: Told(*standing(pods.get(key, {})), frozenset(told.get(key, ())))
        for key in sorted(pods.keys() | told.keys())
    }


def standing(raw: Object) -> Standing:
    node = raw.get("spec", {}).get("nodeName", "")
    conditions = raw.get("status", {}).get("conditions", ())
    said = next((each for each in conditions if each["type"] == "PodScheduled"), {})
    return (node, "", "") if node else ("", said.get("reason", ""), said.get("message", ""))


def _with_names(message: str, uids: dict[str, str]) -> str:
    for uid, key in uids.items():
        message = message.replace(uid, key)
    return message


def _raw(pod: Pod) -> Object:
    raw: Object = json.loads(msgspec.json.encode(pod))
    return raw


def simulated(files: list[Path], config: Path) -> Played:
    """The scenario of these manifests, up to a while after the last that comes from outside."""
    registry, settings = _settings(config)
    entries = read_manifests(files)
    end = max(_last_moments(files), default=0.0) + AFTERWARDS_S
    engine = make_engine(settings, registry)
    played = Played(engine, entries, scheduler_names=tuple(engine.profiles), until=end)
    played.run()
    return played


@cache
def _settings(config: Path) -> tuple[Registry, SchedulerConfig]:
    registry = make_registry()
    return registry, read_config(config, registry)


def _last_moments(files: list[Path]) -> Iterator[float]:
    """Of arrivals and ends; a pod that waits for another's end comes to its own in its turn."""
    for file in files:
        for line in file.read_text().splitlines():
            for word in line.replace(",", " ").replace("}", " ").split("sim.mooring.io/")[1:]:
                seconds = word.split()[1].strip("\"'")
                yield float(seconds.removesuffix("s")) * (2 if word.startswith("runs-for") else 1)
