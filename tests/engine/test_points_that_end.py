"""`sys.exit`, Ctrl-C or a cancelled task raised by a plugin end nothing but its pod's cycle."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Any

import pytest

from engine.stage import Stage, made, node, pod
from mooring.engine.decisions import Bind, Wait
from mooring.framework.api.events import NODE, Action, Interest
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import skip, unschedulable
from mooring.model.objects import Pod

BAD = {"bad": "1"}


def exits() -> None:
    sys.exit("enough")


def recurses() -> None:
    recurses()


def raising(kind: type[BaseException]) -> Any:
    def end() -> None:
        raise kind

    return end


ENDINGS = {
    "exit": exits,
    "interrupt": raising(KeyboardInterrupt),
    "generator": raising(GeneratorExit),
    "recursion": recurses,
    "memory": raising(MemoryError),
    "cancelled": raising(asyncio.CancelledError),
}
ending = pytest.mark.parametrize("end", ENDINGS.values(), ids=list(ENDINGS))

DECIDING = [
    "before_pre_filter",
    "pre_filter",
    "after_pre_filter",
    "find_one_node",
    "before_filter",
    "filter",
    "before_score",
    "pre_score",
    "score",
    "allocate",
    "resize_pod",
    "reserve",
    "permit",
    "pre_bind_pre_flight",
    "pre_bind_patch",
    "sign",
]
REFUSED = ["post_filter", "after_post_filter"]
ASIDE = [
    "on_session_close",
    "unreserve",
    "pod_seen",
    "pod_bound",
    "pod_gone",
    "object_seen",
    "follow_up",
    "wake_at",
    "next_pod",
    "order_of",
]


def bad_at(point: str, end: Any, **more: Any) -> type[Plugin]:
    """Ends at a point for pods that ask for it; where no pod is named, always."""

    def method(self: Any, *arguments: Any) -> Any:
        pods = [a for a in arguments if hasattr(a, "labels") and hasattr(a, "spec")]
        if all(a.labels.get("bad") for a in pods):
            end()
        return {"sign": 1, "score": 0, "pre_bind_pre_flight": skip()}.get(point)

    members: dict[str, Any] = {"filter": lambda self, *arguments: None, **more, point: method}
    if point == "pre_bind_pre_flight":
        members["pre_bind"] = lambda self, *arguments: None
    return made("Bad", **members)


@ending
@pytest.mark.parametrize("point", DECIDING)
def test_a_point_that_decides_costs_its_pod_a_cycle(point: str, end: Any) -> None:
    stage = Stage(bad_at(point, end)).nodes("n", "m")
    assert isinstance(stage.try_pod(pod("before", "100m")), Bind)
    refusal = stage.wait(pod("p", labels=BAD))
    assert (refusal.reason, refusal.plugins) == ("SchedulerError", ("Bad",))
    assert isinstance(stage.try_pod(pod("after", "100m")), Bind)


@ending
@pytest.mark.parametrize("point", ["filter_nodes", "score_nodes", "judges", "on_session_open"])
def test_a_point_that_names_no_pod_costs_each_pod_a_cycle(point: str, end: Any) -> None:
    members: dict[str, Any] = {"filter": lambda self, *a: None, point: lambda self, *a: end()}
    stage = Stage(made("Bad", **members)).nodes("n", "m")
    for name in "pq":
        assert stage.wait(pod(name)).plugins == ("Bad",)


@ending
@pytest.mark.parametrize("point", REFUSED)
def test_a_way_out_that_ends_is_none(point: str, end: Any) -> None:
    stage = Stage(bad_at(point, end)).nodes("n")
    assert "Bad" in stage.wait(pod("p", "64", labels=BAD)).message
    assert stage.place(pod("q")) == "n"


@ending
@pytest.mark.parametrize("point", ASIDE)
def test_a_point_beside_deciding_changes_nothing(point: str, end: Any) -> None:
    more = {"reserve": lambda self, *a: None} if point == "unreserve" else {}
    stage = Stage(bad_at(point, end, **more)).nodes("n")
    bind = stage.try_pod(pod("p", "100m", labels=BAD))
    assert isinstance(bind, Bind)
    stage.bind_failed(bind)
    stage.engine.wake_at()
    stage.delete(bind.pod)
    assert stage.place(pod("q", "100m")) == "n"


@ending
def test_a_gate_holds_its_pod(end: Any) -> None:
    stage = Stage(bad_at("pre_enqueue", end)).nodes("n")
    stage.add(p := pod("p", labels=BAD))
    assert stage.queued(p).gating_plugin == "Bad"
    assert stage.place(pod("q")) == "n"


@ending
@pytest.mark.parametrize("how", ["sort_key", "less", "comparing"])
def test_an_order_loses_no_pod(how: str, end: Any) -> None:
    class Moody:
        def __lt__(self, other: object) -> bool:
            end()
            return False

    method = (lambda self, *queued: Moody()) if how == "comparing" else (lambda self, *queued: end())
    sort = "queueSort: {disabled: [{name: PrioritySort}], enabled: [{name: Bad}]}"
    text = f"profiles:\n- plugins:\n    {sort}\n"
    point = "less" if how == "less" else "sort_key"
    stage = Stage(made("Bad", **{point: method}), text=text).nodes("n")
    stage.add(*(pod(name, "100m") for name in "abc"))
    assert sorted(stage.all()) == ["a", "b", "c"]


@ending
def test_a_hint_that_ends_wakes_its_pod(end: Any) -> None:
    def refuses(self: Any, cycle: Any, pod: Pod, node: Any) -> Any:
        return unschedulable("no")

    hint = Interest(NODE, Action.ADD, lambda pod, old, new: end())
    stage = Stage(made("Bad", filter=refuses, events=lambda self: [hint])).nodes("n")
    stage.wait(p := pod("p"))
    stage.nodes("m")
    assert stage.where(p) == "backoff"


@ending
@pytest.mark.parametrize("scope", [Scope.STATIC, Scope.ROW])
def test_a_version_that_ends_costs_what_is_kept(scope: Scope, end: Any) -> None:
    def version(self: Any) -> Any:
        if self.broken:
            end()
        return 0

    plugin = made("Bad", scope=scope, broken=False, version=property(version), filter=lambda self, *a: None)
    stage = Stage(plugin).nodes("n", "m")
    stage.place(pod("p", "100m"))
    stage.plugin("Bad").broken = True
    stage.place(pod("q", "100m"))  # what is kept is of no use: every node is asked
    stage.plugin("Bad").broken = False
    stage.place(pod("s", "100m"))


@ending
@pytest.mark.parametrize("kind", ["predicate", "pre_predicate", "node_order"])
def test_a_session_hook_costs_its_pod_a_cycle(kind: str, end: Any) -> None:
    def opened(self: Any, ssn: Any) -> None:
        getattr(ssn, f"add_{kind}")(lambda *about: end())

    stage = Stage(made("Bad", on_session_open=opened, filter=lambda self, *a: None)).nodes("n", "m")
    assert isinstance(stage.try_pod(pod("p")), Wait)


def test_ctrl_c_still_ends_it() -> None:
    """Whoever sits in front of it has the last word, also while a plugin runs."""
    stage = Stage(bad_at("filter", lambda: signal.raise_signal(signal.SIGINT))).nodes(node("n"))
    stage.add(pod("p", labels=BAD))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    try:
        with pytest.raises(KeyboardInterrupt):
            stage.engine.schedule(0.0)
    finally:
        signal.signal(signal.SIGINT, before)
