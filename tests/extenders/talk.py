"""An engine with extenders, and a test that answers in their place."""

from __future__ import annotations

import json
from typing import Any

from engine.stage import Stage
from mooring.config.scheduler import Extender, ManagedResource
from mooring.engine.decisions import Consult, Decision
from mooring.engine.events import Consulted
from mooring.model.objects import Pod

URL = "http://127.0.0.1:8888/scheduler"


def extender(**fields: Any) -> Extender:
    """One that filters by name; fields given replace or add to that."""
    if resources := fields.pop("managed", ()):
        fields["managed_resources"] = tuple(ManagedResource(name=name) for name in resources)
    return Extender(**({"url_prefix": URL, "filter_verb": "filter", "node_cache_capable": True} | fields))


def prioritizer(weight: int = 1, **fields: Any) -> Extender:
    return extender(**({"filter_verb": "", "prioritize_verb": "prioritize", "weight": weight} | fields))


def stage(*extenders: Extender, nodes: tuple[Any, ...] = ("a", "b", "c"), **options: Any) -> Stage:
    return Stage(extenders=extenders, **options).nodes(*nodes)


def park(world: Stage, pod: Pod) -> Consult:
    """The one question a new pod gives rise to."""
    (question,) = questions(world, pod)
    return question


def questions(world: Stage, pod: Pod) -> list[Consult]:
    world.add(pod)
    found = world.cycle()
    assert found
    assert all(isinstance(each, Consult) for each in found), found
    return found  # type: ignore[return-value]


def answer(world: Stage, question: Decision, data: Any = None, *, error: str = "") -> list[Decision]:
    """What the engine decides once it has the answer."""
    assert isinstance(question, Consult), question
    q = question
    event = Consulted(q.pod, q.extender, q.verb, q.number, b"" if error else json.dumps(data).encode(), error)
    decided = world.engine.handle(event, world.now)
    world.engine.check()
    return decided


def sent(question: Decision) -> dict[str, Any]:
    """The body of a question as it goes over the wire."""
    assert isinstance(question, Consult)
    body = json.loads(question.body)
    assert isinstance(body, dict)
    return body


def scores(**hosts: int) -> list[dict[str, Any]]:
    return [{"Host": host, "Score": score} for host, score in hosts.items()]
