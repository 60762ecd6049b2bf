"""Whatever fails, and whenever: each bind is answered once, and rightly."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kube.doing import Doing, a_pod, evict, wait_for
from kube.played_server import LOST, UNHEARD, UNSENT, refusal
from kube.virtual_time import in_virtual_time
from mooring.engine.decisions import Nominate
from mooring.engine.events import BindFailed, Bound

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
    server = doing.server
    server.delay = lambda: chance.choice([0.0, 0.01, 1.0])
    play = server._fault

    def fault(request: Any) -> Any:
        if request.method == "GET":  # whether it is bound can be found out, sooner or later
            return UNHEARD if chance.random() < odds / 2 else None
        return chance.choice(FAULTS) if chance.random() < odds else play(request)

    server._fault = fault  # type: ignore[method-assign]
    binds = []
    for name in NAMES:
        if chance.random() < 0.9:
            server.holds(a_pod(name))
    for name, step in steps:
        pod = a_pod(name)
        if step == "b" and not any(each.pod.uid == pod.uid for each in binds):
            binds.append(doing.bind(pod))
            doing.performer.perform(binds[-1])
        elif step == "w":
            doing.performer.perform(wait_for(pod, chance.choice("xyz"), chance.choice([None, "", "n1"])))
        elif step == "n":
            doing.performer.perform(Nominate(pod, chance.choice(["", "n1"])))
        elif step == "e":
            doing.performer.perform(evict(pod, a_pod("big")))
    await doing.settled()
    answers = [event.pod.uid for event in doing.told if isinstance(event, Bound | BindFailed)]
    assert sorted(answers) == sorted(each.pod.uid for each in binds)
    for event in doing.told:
        on_server = server.pods.get(event.pod.key)  # type: ignore[union-attr]
        if isinstance(event, Bound):
            assert on_server is None or on_server["spec"].get("nodeName") == "n1"
        elif isinstance(event, BindFailed):
            assert on_server is None or "nodeName" not in on_server["spec"]
    assert doing.performer.backlog == 0
    assert doing.performer.api.sent == set()
    assert server.most_in_flight <= slots
    assert await doing.recorder.flush(1000.0) == 0
    assert doing.slots._free == slots
    assert doing.slots.quiet.is_set()
