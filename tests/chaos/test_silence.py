from __future__ import annotations

from chaos.ledger import Entry
from chaos.silence import waiting_in_silence
from chaos.story import Story
from e2e.workloads import pod


def entries(message: str = "", node: str = "", *, deleting: bool = False) -> list[Entry]:
    story = Story()
    story.pod(pod("p"), node)
    if deleting:
        story.deleting("p")
    (entry,) = story.ledger.copy_of_pods().values()
    condition = {"type": "PodScheduled", "status": "False", "reason": "HeldBack", "message": message}
    return [Entry({**entry.raw, "status": {"conditions": [condition]}})]


def silence(pods: list[Entry], *, event: bool = True, why: str = "so") -> list[str]:
    return list(waiting_in_silence(pods, lambda each: event, lambda each: why))


def test_every_word_that_is_missing_is_named() -> None:
    assert silence(entries("waits for others")) == []
    assert silence(entries()) == ["chaos/p waits without a condition"]
    assert silence(entries("waits for others"), event=False, why="") == [
        "chaos/p waits without an Event",
        "chaos/p waits, and nobody says why",
    ]


def test_who_has_a_node_or_is_going_need_not_say_anything() -> None:
    assert silence(entries(deleting=True), event=False, why="") == []
    assert silence(entries(node="n"), event=False, why="") == []
