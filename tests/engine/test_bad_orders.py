"""Orders that make no sense lose no pod and end nothing: what is no order does not count, and is told."""

from __future__ import annotations

import random
from typing import Any

import pytest

from engine.stage import Stage, made, pod

NAN = float("nan")
NO_ORDERS: dict[str, Any] = {
    "text": "group",
    "number": 7,
    "list": [0.0, "g"],
    "three": (0.0, "g", 1),
    "text first": ("0", "g"),
    "number last": (0.0, 7),
    "nan": (NAN, "g"),
    "endless": (float("inf"), "g"),
    "true": (True, "g"),
    "object": object(),
}


@pytest.mark.parametrize("answer", NO_ORDERS.values(), ids=NO_ORDERS)
def test_what_is_no_order_of_a_group(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    name = f"Bad {answer!r}"[:30]  # what a plugin does wrong is logged once
    stage = Stage(made(name, order_of=lambda self, pod: answer, filter=lambda *a: None)).nodes("n")
    stage.wait(large := pod("large", "8"))
    stage.add(pod("p", "100m"), pod("q", "100m"))
    assert sorted(stage.all()) == ["p", "q"]
    stage.nodes("m")
    stage.tick(100.0)
    assert stage.queued(large).group is None
    assert f"plugin {name} failed at order_of" in caplog.text
    stage.engine.check()


def test_orders_that_change_from_call_to_call() -> None:
    rng = random.Random(3)
    groups = [None, (0.0, "g"), (5.0, "h"), "x", (1.0, 2.0)]
    plugin = made("Bad", order_of=lambda self, pod: rng.choice(groups), filter=lambda *a: None)
    stage = Stage(plugin).nodes("n")
    pods = [pod(f"p{i}", "10m") for i in range(30)]
    stage.add(*pods)
    for each in pods:
        stage.change(each)
    assert len(stage.all()) == 30


SORT = "profiles:\n- plugins:\n    queueSort: {disabled: [{name: PrioritySort}], enabled: [{name: Bad}]}\n"
LESS: dict[str, Any] = {
    "always": lambda rng, a, b: True,
    "never": lambda rng, a, b: False,
    "as it likes": lambda rng, a, b: rng.random() < 0.5,
    "text": lambda rng, a, b: "yes",
    "nan": lambda rng, a, b: NAN,
    "in a circle": lambda rng, a, b: (ord(a[-1]) - ord(b[-1])) % 3 == 1,
    "now and then": lambda rng, a, b: 1 // rng.choice([0, 1, 1]),
}


@pytest.mark.parametrize("less", LESS.values(), ids=LESS)
def test_comparing_that_is_no_order(less: Any) -> None:
    rng = random.Random(5)
    plugin = made("Bad", less=lambda self, a, b: less(rng, a.pod.name, b.pod.name))
    stage = Stage(plugin, text=SORT).nodes("n")
    pods = [pod(f"p{i}", "10m") for i in range(40)]
    stage.add(*pods)
    for gone in pods[::7]:
        stage.delete(gone)
    assert len(stage.all()) == 40 - len(pods[::7])
    stage.engine.check()


@pytest.mark.parametrize("answer", ["soon", NAN, float("inf"), True, object(), [1]])
def test_a_moment_that_is_none_wakes_nobody(answer: Any) -> None:
    stage = Stage(made("Bad", wake_at=lambda self: answer, filter=lambda *a: None)).nodes("n")
    assert stage.engine.wake_at() is None


@pytest.mark.parametrize("answer", ["p", 7, object(), [pod("p")], pod("unknown")])
def test_a_wish_that_is_none(answer: Any) -> None:
    stage = Stage(made("Bad", next_pod=lambda self: answer, filter=lambda *a: None)).nodes("n")
    assert stage.place(pod("p")) == "n"


@pytest.mark.parametrize("answer", [None, 7, "Pod", ["Pod"], [None], [("Pod", 1)], object()])
def test_interests_that_are_none_are_in_everything(answer: Any) -> None:
    from mooring.framework.api.status import unschedulable

    plugin = made("Bad", events=lambda self: answer, filter=lambda *a: unschedulable("no"))
    stage = Stage(plugin).nodes("n")
    stage.wait(p := pod("p"))
    stage.now = 5.0
    stage.nodes("m")
    assert stage.where(p) == "active"
