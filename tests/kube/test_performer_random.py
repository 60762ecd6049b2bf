"""Whatever fails, and whenever: each bind is answered once, and rightly."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kube.doing import Doing, a_pod, evict, wait_for
from kube.played_server import LOST, UNHEARD, UNSENT, PlayedServer, refusal
from kube.virtual_time import in_virtual_time
from mooring.engine.decisions import Bind, Decision, Nominate
from mooring.engine.events import BindFailed, Bound, Event
from mooring.kube.http.transport import Request
from mooring.model.objects import Pod

FAULTS = [
    LOST,
    UNHEARD,
    UNSENT,
    refusal(409, "no"),
    refusal(500, "no"),
    refusal(429, "no"),
    refusal(403, "no"),
]
NAMES = [f"p{number}" for number in range(6)]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from("bwne")), max_size=25),
    st.integers(0, 2**32),
    st.integers(1, 4),
    st.floats(0, 0.7),
)
def test_each_bind_is_answered_once_and_rightly(
    steps: list[tuple[str, str]], seed: int, slots: int, odds: float
) -> None:
    in_virtual_time(run(steps, random.Random(seed), slots, odds))


async def run(steps: list[tuple[str, str]], chance: random.Random, slots: int, odds: float) -> None:
    doing = Doing(slots=slots, tasks=chance.randint(1, 5))
    make_trouble(doing, chance, odds)
    binds: dict[str, Bind] = {}
    for name, step in steps:
        if step == "b" and name in binds:
            continue
        decision = decide(doing, a_pod(name), step, chance)
        if isinstance(decision, Bind):
            binds[name] = decision
        doing.performer.perform(decision)
    await doing.settled()
    answers = [event.pod.name for event in doing.told if isinstance(event, Bound | BindFailed)]
    assert sorted(answers) == sorted(binds)
    for event in doing.told:
        check_true(event, doing.server)
    assert doing.performer.backlog == 0
    assert doing.performer.api.sent == set()
    assert doing.server.most_in_flight <= slots
    assert await doing.recorder.flush(1000.0) == 0
    assert doing.slots._free == slots
    assert doing.slots.quiet.is_set()


def make_trouble(doing: Doing, chance: random.Random, odds: float) -> None:
    server = doing.server
    server.delay = lambda: chance.choice([0.0, 0.01, 1.0])

    def fault(request: Request) -> Any:
        if request.method == "GET":  # whether it is bound can be found out, sooner or later
            return UNHEARD if chance.random() < odds / 2 else None
        return chance.choice(FAULTS) if chance.random() < odds else None

    server._fault = fault  # type: ignore[method-assign]
    for name in NAMES:
        if chance.random() < 0.9:
            server.holds(a_pod(name))


def decide(doing: Doing, pod: Pod, step: str, chance: random.Random) -> Decision:
    if step == "b":
        return doing.bind(pod)
    if step == "w":
        return wait_for(pod, chance.choice("xyz"), chance.choice([None, "", "n1"]))
    if step == "n":
        return Nominate(pod, chance.choice(["", "n1"]))
    return evict(pod, a_pod("big"))


def check_true(event: Event, server: PlayedServer) -> None:
    """What was told is what is so; a pod that was evicted since is not there to say."""
    if not isinstance(event, Bound | BindFailed) or event.pod.key not in server.pods:
        return
    node = server.pods[event.pod.key]["spec"].get("nodeName")
    assert node == ("n1" if isinstance(event, Bound) else None)
