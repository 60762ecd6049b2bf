"""Which events wake a pod that was rejected."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import BARE, Stage, made, pod
from mooring.engine.queue.hints import Hints, Requeue, interests_of
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.framework.api.events import ANY, ASSIGNED_POD, NODE, POD, Action, ClusterEvent, Hint, Interest

NODE_ADDED = ClusterEvent(NODE, Action.ADD, "NodeAdd")
POD_DELETED = ClusterEvent(ASSIGNED_POD, Action.DELETE, "AssignedPodDelete", old=pod("gone"))
SKIP, AFTER, NOW = Requeue.SKIP, Requeue.AFTER_BACKOFF, Requeue.IMMEDIATELY


def broken(waiting: Any, old: Any, new: Any) -> Hint:
    raise RuntimeError("cannot say")


def registering(name: str, *interests: Interest) -> Any:
    return made(name, filter=lambda self, cycle, pod, node: None, events=lambda self: interests)


def says(hint: Hint) -> Any:
    return lambda waiting, old, new: hint


YES, NO, BROKEN = says(Hint.QUEUE), says(Hint.SKIP), broken
PLUGINS = (
    registering("Yes", Interest(NODE, Action.ADD, YES)),
    registering("No", Interest(NODE, Action.ADD, NO)),
    registering("Broken", Interest(NODE, Action.ADD, BROKEN)),
    registering("Plain", Interest(NODE, Action.ADD)),
    registering("Deaf"),
    registering("NoThenYes", Interest(NODE, Action.ADD, NO), Interest(NODE, Action.ALL, YES)),
    made("Silent", filter=lambda self, cycle, pod, node: None),
    made("Scores", score=lambda self, cycle, pod, node: 1),
)


@pytest.fixture(scope="module")
def hints() -> Hints:
    return Hints(Stage(*PLUGINS, base=BARE).engine.profiles.values())


def rejected(by: str = "", pending: str = "") -> QueuedPod:
    return QueuedPod(
        pod("p"), 0.0, unschedulable_plugins=frozenset(by.split()), pending_plugins=frozenset(pending.split())
    )


def wildcard(about: Any = None) -> ClusterEvent:
    return ClusterEvent(ANY, Action.ALL, "ForceActivate", new=about)


@pytest.mark.parametrize(
    ("queued", "event", "expected"),
    [
        pytest.param(rejected("Broken"), NODE_ADDED, AFTER, id="K9 a hint that fails"),
        pytest.param(rejected("Yes"), POD_DELETED, SKIP, id="K10 not registered"),
        pytest.param(rejected("Yes"), wildcard(), AFTER, id="K11 wildcard"),
        pytest.param(rejected("Yes"), wildcard(pod("p")), AFTER, id="K11 wildcard about it"),
        pytest.param(rejected("Yes"), wildcard(pod("other")), SKIP, id="K11 wildcard about another pod"),
        pytest.param(rejected("No", pending="Yes"), NODE_ADDED, NOW, id="K12 pending plugin says so"),
        pytest.param(rejected("No"), NODE_ADDED, SKIP, id="K13 only one that did not reject says so"),
        pytest.param(rejected("Yes", pending="No"), NODE_ADDED, AFTER, id="K14 pending plugin says no"),
        pytest.param(rejected("Yes", pending="Plain"), NODE_ADDED, NOW, id="pending one asked after another"),
        pytest.param(rejected("Plain"), NODE_ADDED, AFTER, id="no hint at all"),
        pytest.param(rejected("Deaf"), NODE_ADDED, SKIP, id="registers nothing"),
        pytest.param(rejected("Deaf"), wildcard(), AFTER, id="registers nothing, wildcard"),
        pytest.param(rejected("NoThenYes"), NODE_ADDED, AFTER, id="any of its hints"),
        pytest.param(rejected("Silent"), POD_DELETED, AFTER, id="does not say: everything"),
        pytest.param(rejected(), POD_DELETED, AFTER, id="no rejector"),
        pytest.param(rejected("Unheard"), NODE_ADDED, SKIP, id="unknown rejector"),
    ],
)
def test_strategy(hints: Hints, queued: QueuedPod, event: ClusterEvent, expected: Requeue) -> None:
    assert hints.worth_requeuing(queued, event) is expected


def test_only_plugins_that_can_reject_are_asked(hints: Hints) -> None:
    stage = Stage(*PLUGINS, base=BARE)
    assert interests_of(stage.plugin("Scores")) == ()
    assert not hints.wanted("default-scheduler", "Scores", NODE_ADDED)


def test_who_waits_for_nodes_hears_of_their_taints_too(hints: Hints) -> None:
    assert hints.wanted("default-scheduler", "Plain", ClusterEvent(NODE, Action.UPDATE_NODE_TAINT))
    assert not hints.wanted("default-scheduler", "Plain", ClusterEvent(NODE, Action.UPDATE_NODE_LABEL))
    assert not hints.wanted("default-scheduler", "Deaf", ClusterEvent(NODE, Action.UPDATE_NODE_TAINT))


@pytest.mark.parametrize(
    ("interest", "event", "wanted"),
    [
        pytest.param(Interest(POD, Action.DELETE), POD_DELETED, True, id="pod stands for assigned pods"),
        pytest.param(Interest(ANY, Action.ADD), NODE_ADDED, True, id="any resource"),
        pytest.param(Interest(ANY, Action.ALL), wildcard(), True, id="everything"),
        pytest.param(Interest(NODE, Action.ADD), wildcard(), False, id="wildcard has no resource"),
        pytest.param(Interest(NODE, Action.DELETE), NODE_ADDED, False, id="another action"),
        pytest.param(Interest(POD, Action.ADD), NODE_ADDED, False, id="another resource"),
    ],
)
def test_wanted(interest: Interest, event: ClusterEvent, wanted: bool) -> None:
    assert event.wanted_by(interest) is wanted


def test_an_event_nobody_registered_is_not_looked_into() -> None:
    hints = Hints(
        Stage(registering("Yes", Interest(NODE, Action.ADD, YES)), base=BARE).engine.profiles.values()
    )
    assert not hints.anyone_wants(POD_DELETED)
    assert hints.anyone_wants(NODE_ADDED)
    assert hints.anyone_wants(wildcard())
