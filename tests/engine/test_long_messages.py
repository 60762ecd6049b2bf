"""Whatever policies and extenders say, at whatever length: a pod's message is one the API server takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from engine.stage import BARE, Stage, made, pod
from mooring.engine.decisions import Evict, Refuse, Wait
from mooring.engine.placement.fit_error import MOST_REASONS, FitError, NodeStatuses
from mooring.framework.api.answers import LONGEST_REASON
from mooring.framework.api.answers import MOST_REASONS as MOST_OF_A_STATUS
from mooring.framework.api.status import Status, unschedulable, wait
from mooring.framework.api.writes import Write, check_write
from mooring.model.objects import Object, ObjectMeta
from mooring.model.texts import LONGEST_MESSAGE, LONGEST_SAID

SURROGATE = "caf\udce9"


def refusal(**points: Any) -> Wait:
    return Stage(made("Wordy", **points), base=BARE).nodes(*(f"n{i:03}" for i in range(100))).wait(pod("p"))


def test_reasons_without_end_are_counted() -> None:
    """Those that most nodes give come first."""

    def say(self: Any, cycle: Any, pod: Any, node: Any) -> Status:
        return unschedulable("common", *(f"{node.name} {i} {'z' * 1000}" for i in range(64)))

    message = refusal(filter=say).message
    assert len(message) <= LONGEST_MESSAGE
    assert message.startswith("0/100 nodes are available: 1 ")
    assert ", 100 ... and 56 more reasons, 100 common, ... and " in message
    assert message.endswith(" more reasons.")


def test_many_short_reasons_are_counted_too() -> None:
    stage = Stage(base=BARE).nodes("a")
    nodes = stage.engine.cluster.nodes
    counts = {unschedulable(f"r{i}"): 1 for i in range(1000)} | {unschedulable("often"): 2}
    message = FitError(1002, NodeStatuses(nodes, {}, Status()), counts).message()
    assert f", 2 often, ... and {1001 - MOST_REASONS} more reasons." in message
    assert len(re.findall(r"\b1 r\d+", message)) == MOST_REASONS - 1


def test_a_status_has_room_for_so_much() -> None:
    """Every node may have one of its own."""

    def say(self: Any, cycle: Any, pod: Any) -> Status:
        return unschedulable(*("é" * 5000 for _ in range(200)))

    message = refusal(pre_filter=say).message
    kept = LONGEST_SAID // LONGEST_REASON
    assert message.endswith(f"é..., ... and {200 - kept} more reasons.")
    assert len(message) < LONGEST_SAID + 100
    assert kept < MOST_OF_A_STATUS


@pytest.mark.parametrize(
    "points",
    [
        {"pre_filter": lambda self, cycle, pod: unschedulable(SURROGATE)},
        {"filter": lambda self, cycle, pod, node: unschedulable(SURROGATE)},
        {"reserve": lambda self, cycle, pod, node: unschedulable(SURROGATE)},
        {"permit": lambda self, cycle, pod, node: unschedulable(SURROGATE)},
        {"post_filter": lambda self, *_: unschedulable(SURROGATE), "pre_filter": lambda *_: unschedulable()},
        {"filter": lambda self, cycle, pod, node: (_ for _ in ()).throw(ValueError(SURROGATE))},
        {"pre_bind_patch": lambda self, cycle, pod, node: {"metadata": {"labels": {"a": SURROGATE}}}},
    ],
)
def test_what_is_no_text_is_none_in_a_message(
    points: dict[str, Callable[..., Any]], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("CRITICAL", "mooring.plugins")  # what pytest hands on must be text
    said = refusal(**points).message
    assert "caf\ufffd" in said or "can't encode" in said
    msgspec.json.encode(said)


@pytest.mark.parametrize(
    "decision",
    [
        lambda text: Wait(pod("p"), "Unschedulable", text),
        lambda text: Evict(pod("p"), "", "Reason", text),
        lambda text: Refuse(
            Object(api_version="v1", kind="Pod", metadata=ObjectMeta(), data={}), text, "mine"
        ),
    ],
)
def test_no_decision_says_more_than_the_server_takes(decision: Callable[[str], Any]) -> None:
    assert decision("short").message == "short"
    assert len(decision("x" * 1_000_000).message) == LONGEST_MESSAGE
    assert decision(SURROGATE).message == "caf\ufffd"


def test_what_a_policy_reports() -> None:
    says = made("Says", pre_filter=lambda self, cycle, pod: self.handle.report(pod, SURROGATE * 9000))
    stage = Stage(says, base=BARE).nodes("n")
    stage.add(pod("p"))
    (said,) = [each for each in stage.cycle() or () if isinstance(each, Wait)]
    assert said.message.startswith("caf\ufffd")
    assert len(said.message) == LONGEST_SAID


def test_with_which_words_a_waiting_pod_is_rejected() -> None:
    holds = made("Holds", permit=lambda self, cycle, pod, node: wait(60.0))
    stage = Stage(holds, base=BARE).nodes("n")
    stage.add(waiting := pod("p"))
    stage.cycle()
    stage.engine.waiting[waiting.uid].reject(SURROGATE, SURROGATE)
    (said,) = [each for each in stage.tick() if isinstance(each, Wait)]
    msgspec.json.encode((said.message, said.plugins))
    assert "caf\ufffd" in said.message


@pytest.mark.parametrize("field", ["kind", "key", "sub", "body"])
def test_writes_are_texts_that_can_be_sent(field: str) -> None:
    given = {"kind": "Pod", "key": "default/p", "sub": "", "body": {"a": "b"}}
    given[field] = {"a": SURROGATE} if field == "body" else SURROGATE
    with pytest.raises(UnicodeEncodeError):
        check_write(Write("patch", **given))  # type: ignore[arg-type]


def test_ordinary_messages_are_kube_schedulers() -> None:
    def say(self: Any, cycle: Any, pod: Any, node: Any) -> Status:
        return unschedulable(f"{node.name} is not ready")

    stage = Stage(made("Each", filter=say), base=BARE).nodes(*(f"n{i}" for i in range(50)))
    reasons = sorted(f"1 n{i} is not ready" for i in range(50))
    assert stage.wait(pod("p")).message == f"0/50 nodes are available: {', '.join(reasons)}."
