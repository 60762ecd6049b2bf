from __future__ import annotations

import json

from mooring.sim.result import PendingPod, Result, Summary, to_data, to_json

RESULT = Result(
    placements={"default/b": "n", "default/a": "m"},
    pending={"default/c": PendingPod("no room", ("NodeResourcesFit",), None)},
    evicted=("default/z", "default/e"),
    patches={"default/a": {"metadata": {"annotations": {"y": "1", "x": "2"}}}},
    summary=Summary(nodes=2, pods=5, bound=2, pending=1, evicted=2, end_time_s=12.5),
)


def test_the_public_shape() -> None:
    assert to_data(RESULT) == {
        "placements": {"default/a": "m", "default/b": "n"},
        "pending": {"default/c": {"message": "no room", "plugins": ["NodeResourcesFit"], "nominated": None}},
        "evicted": ["default/e", "default/z"],
        "patches": {"default/a": {"metadata": {"annotations": {"x": "2", "y": "1"}}}},
        "summary": {"nodes": 2, "pods": 5, "bound": 2, "pending": 1, "evicted": 2, "end_time_s": 12.5},
    }


def test_scores_only_when_asked_for() -> None:
    scored = Result(
        placements={}, pending={}, evicted=(), patches={}, summary=RESULT.summary, scores={"a/b": {"n": 7}}
    )
    assert to_data(scored)["scores"] == {"a/b": {"n": 7}}


def test_json_is_sorted_and_repeats() -> None:
    text = to_json(RESULT)
    assert text == to_json(RESULT)
    assert list(json.loads(text)) == ["evicted", "patches", "pending", "placements", "summary"]
    assert list(json.loads(text)["placements"]) == ["default/a", "default/b"]
    assert text.endswith(b"}\n")
