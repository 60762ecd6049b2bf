"""The points Koordinator adds: transformers, allocation, resizing, patches, picking pods and nodes."""

from __future__ import annotations

from typing import Any

import pytest

from engine.stage import Stage, changed, made, node, pod
from mooring.engine.decisions import Bind
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.status import SKIP, error, unresolvable, unschedulable, wait
from mooring.model.objects import Pod, PodSchedulingGate

SMALL = pod("x", "1").spec.containers


def shrinking(self: Any, cycle: Any, pod: Pod, *rest: Any) -> Pod:
    return changed(pod, containers=SMALL)


# before and after pre_filter


def test_before_pre_filter_changes_the_pod_for_everyone_after_it() -> None:
    seen: list[int] = []
    looks = made("Looks", filter=lambda self, cycle, pod, node: seen.append(pod.request.cpu_milli))
    stage = Stage(made("Shrinks", before_pre_filter=shrinking), looks).nodes("n")
    decision = stage.try_pod(big := pod("p", "64"))
    assert isinstance(decision, Bind)
    assert decision.pod == big
    assert seen == [1000]
    assert stage.engine.view.node("n").requested("cpu") == 1000


def test_before_pre_filter_runs_in_order() -> None:
    def adding(letter: str) -> Any:
        return lambda self, cycle, pod: changed(pod, labels={"seen": pod.labels.get("seen", "") + letter})

    last: list[str] = []
    looks = made("Looks", pre_filter=lambda self, cycle, pod: last.append(pod.labels["seen"]))
    plugins = [made(letter, before_pre_filter=adding(letter)) for letter in "AB"]
    Stage(*plugins, looks).nodes("n").place(pod("p"))
    assert last == ["AB"]


def test_before_pre_filter_may_refuse_the_pod() -> None:
    no = made("No", before_pre_filter=lambda self, cycle, pod: unresolvable("not this one"))
    refusal = Stage(no).nodes("n", "m").wait(pod("p"))
    assert refusal.message == "0/2 nodes are available: not this one."
    assert (refusal.reason, refusal.plugins) == ("Unschedulable", ("No",))


def test_after_pre_filter_hears_what_is_left() -> None:
    heard: list[Any] = []
    narrow = made("Narrow", pre_filter=lambda self, cycle, pod: {"n"} if pod.name == "p" else None)
    after = made("After", after_pre_filter=lambda self, cycle, pod, node_names: heard.append(node_names))
    stage = Stage(narrow, after).nodes("n", "m")
    stage.place(pod("p"))
    stage.place(pod("q"))
    assert heard == [{"n"}, None]


def test_after_pre_filter_may_refuse_the_pod() -> None:
    no = made("No", after_pre_filter=lambda self, cycle, pod, node_names: unschedulable("after all"))
    refusal = Stage(no).nodes("n").wait(pod("p"))
    assert (refusal.message, refusal.plugins) == ("0/1 nodes are available: after all.", ("No",))


# before filter and score


def test_before_filter_changes_the_pod_on_one_node() -> None:
    def lenient(self: Any, cycle: Any, pod: Pod, node: Any) -> Any:
        return (shrinking(self, cycle, pod), node) if node.name == "n" else None

    shrinks = made("Lenient", before_filter=lenient, resize_pod=shrinking, filter=lambda *a: None)
    stage = Stage(shrinks).nodes("n", "m")
    assert stage.place(pod("p", "6")) == "n"


def test_before_filter_may_reject_a_node() -> None:
    def no(self: Any, cycle: Any, pod: Pod, node: Any) -> Any:
        return unschedulable("not there") if node.name == "n" else None

    stage = Stage(made("No", before_filter=no, filter=lambda *a: None)).nodes("n", "m")
    assert stage.place(pod("p")) == "m"
    assert stage.wait(pod("q", "8")).message == "0/2 nodes are available: 1 Insufficient cpu, 1 not there."


def test_before_score_changes_what_is_scored() -> None:
    def only_m(self: Any, cycle: Any, pod: Pod, nodes: Any) -> Any:
        return pod, [node for node in nodes if node.name == "m"]

    stage = Stage(made("OnlyM", before_score=only_m, score=lambda *a: 0)).nodes(node("n", "64"), "m", "o")
    assert [stage.place(pod(f"p{i}", "100m")) for i in range(5)] == ["m"] * 5


def test_before_score_is_not_asked_about_a_single_node() -> None:
    asked: list[str] = []
    counts = made(
        "Counts", before_score=lambda self, cycle, pod, nodes: asked.append(pod.name), score=lambda *a: 0
    )
    stage = Stage(counts).nodes("n")
    stage.place(pod("p"))
    assert asked == []


def test_before_score_that_refuses_is_an_error() -> None:
    no = made("No", before_score=lambda self, cycle, pod, nodes: unschedulable("no"), score=lambda *a: 0)
    refusal = Stage(no).nodes("n", "m").wait(pod("p"))
    assert (refusal.reason, refusal.plugins) == ("SchedulerError", ("No",))
    assert '"No"' in refusal.message


# the chosen node


def test_allocate_sees_the_chosen_node_before_the_pod_is_there() -> None:
    seen: list[tuple[str, int]] = []

    def allocate(self: Any, cycle: Any, pod: Pod, node: Any) -> None:
        seen.append((node.name, node.pod_count))

    Stage(made("Allocates", allocate=allocate, filter=lambda *a: None)).nodes("n").place(pod("p"))
    assert seen == [("n", 0)]


@pytest.mark.parametrize("point", ["allocate", "resize_pod"])
def test_a_rejection_on_the_chosen_node(point: str) -> None:
    no = made(
        "No", filter=lambda *a: None, **{point: lambda self, cycle, pod, where: unschedulable("no numa")}
    )
    stage = Stage(no).nodes("n", "m")
    refusal = stage.wait(p := pod("p"))
    assert refusal.message == "0/1 nodes are available: 1 no numa."
    assert (refusal.plugins, stage.holds(p)) == (("No",), "")


def test_resize_pod_decides_what_the_pod_takes() -> None:
    stage = Stage(made("Resizes", resize_pod=shrinking, filter=lambda *a: None)).nodes("n")
    decision = stage.try_pod(big := pod("p", "3"))
    assert isinstance(decision, Bind)
    assert decision.pod == big
    assert stage.engine.view.node("n").requested("cpu") == 1000
    (refusal,) = stage.bind_failed(decision)
    assert refusal.pod == big
    assert stage.engine.view.node("n").requested("cpu") == 0
    stage.engine.check()


# patches


def patching(name: str, patch: Any) -> type:
    return made(name, pre_bind_patch=lambda self, cycle, pod, node_name: patch)


def test_patches_are_merged_into_one() -> None:
    one = {"metadata": {"annotations": {"a": "1", "same": "x"}}}
    two = {"metadata": {"annotations": {"b": "2", "same": "x"}, "labels": {"l": "3"}}}
    stage = Stage(patching("One", one), patching("None", None), patching("Two", two)).nodes("n")
    bind = stage.try_pod(pod("p"))
    assert isinstance(bind, Bind)
    assert bind.patch == {
        "metadata": {"annotations": {"a": "1", "same": "x", "b": "2"}, "labels": {"l": "3"}}
    }
    assert one == {"metadata": {"annotations": {"a": "1", "same": "x"}}}


def test_plugins_that_want_different_values_are_a_failure() -> None:
    plugins = [patching(name, {"metadata": {"annotations": {"gpu": name}}}) for name in ("One", "Two")]
    stage = Stage(*plugins).nodes("n")
    refusal = stage.wait(p := pod("p"))
    assert refusal.reason == "SchedulerError"
    assert refusal.message == (
        "running pre_bind_patch of plugin \"Two\": wants metadata.annotations.gpu to be 'Two'; "
        "another plugin has set it to 'One'"
    )
    assert (stage.holds(p), stage.where(p)) == ("", "error_backoff")


def test_a_failing_patch_gives_the_place_back_also_after_permit() -> None:
    holds = made("Holds", permit=lambda self, cycle, pod, node_name: wait(60))
    stage = Stage(holds, patching("Bad", "nonsense")).nodes("n")
    stage.add(p := pod("p"))
    stage.cycle()
    stage.engine.waiting[p.uid].allow("Holds")
    (refusal,) = stage.tick()
    assert '"Bad"' in refusal.message
    assert (stage.holds(p), stage.where(p)) == ("", "error_backoff")
    stage.engine.check()


# picking the pod and the node


def test_next_pod_goes_before_the_queue() -> None:
    wish: list[Pod] = []
    picks = made("Picks", next_pod=lambda self: wish.pop() if wish else None, filter=lambda *a: None)
    stage = Stage(picks).nodes("n")
    stage.wait(stuck := pod("stuck", "8"))
    stage.add(first := pod("first", priority=9), last := pod("last"))
    wish.extend([stuck, last])
    assert [decisions[0].pod.name for _ in range(3) if (decisions := stage.cycle())] == [
        "last",
        "stuck",
        "first",
    ]
    assert first.uid not in stage.engine.queue.in_flight.pods


def test_next_pod_may_not_pick_whom_nobody_knows_or_a_gate_holds() -> None:
    gated = pod("gated", scheduling_gates=(PodSchedulingGate(name="g"),))
    wish: list[Any] = ["nonsense", pod("unheard of"), gated]
    picks = made("Picks", next_pod=lambda self: wish.pop() if wish else None, filter=lambda *a: None)
    stage = Stage(picks).nodes("n")
    stage.add(gated, pod("a", "100m"), pod("b", "100m"), pod("c", "100m"))
    assert sorted(stage.all()) == ["a", "b", "c"]
    assert stage.where(gated) == "unschedulable"


def test_find_one_node_names_the_node() -> None:
    heard: list[Any] = []

    def find(self: Any, cycle: Any, pod: Pod, node_names: Any) -> Any:
        heard.append(node_names)
        return "m"

    stage = Stage(made("Finds", find_one_node=find, filter=lambda *a: None)).nodes(node("n", "64"), "m")
    assert stage.place(pod("p")) == "m"
    assert heard == [None]
    refusal = stage.wait(pod("q", "8"))
    assert refusal.message == (
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [Finds]."
    )


@pytest.mark.parametrize(
    ("answer", "node_name", "message"),
    [
        (SKIP, "n", ""),
        (None, "n", ""),
        (unschedulable("no plan"), "", "0/1 nodes are available: no plan."),
        (error("broken"), "", 'running find_one_node of plugin "Finds": broken'),
    ],
    ids=["skips", "none", "rejects", "fails"],
)
def test_find_one_node_may_leave_it_or_refuse(answer: Any, node_name: str, message: str) -> None:
    finds = made("Finds", find_one_node=lambda self, cycle, pod, node_names: answer, filter=lambda *a: None)
    decision = Stage(finds).nodes("n").try_pod(pod("p"))
    assert getattr(decision, "node", "") == node_name
    assert getattr(decision, "message", "") == message


# reservations


def restoring(name: str, answer: Any) -> type:
    return made(name, restore_reservation=lambda self, cycle, pod, matched, unmatched, node: answer)


def test_reservations_are_restored_by_every_plugin_that_can() -> None:
    asks = made("Asks", filter=lambda *a: None)
    stage = Stage(asks, restoring("Gpu", {"gpu": 1}), restoring("Nothing", None), restoring("Cpu", 4)).nodes(
        "n"
    )
    view = stage.engine.view.node("n")
    handle = stage.plugin("Asks").handle
    assert handle.restore_reservations(Cycle("p", 0.0), pod("p"), [], [], view) == {
        "Gpu": {"gpu": 1},
        "Cpu": 4,
    }


def test_reservations_that_cannot_be_restored() -> None:
    asks = made("Asks", filter=lambda *a: None)
    stage = Stage(asks, restoring("Gpu", unschedulable("taken")), restoring("Cpu", 4)).nodes("n")
    status = stage.plugin("Asks").handle.restore_reservations(
        Cycle("p", 0.0), pod("p"), [], [], stage.engine.view.node("n")
    )
    assert (status.plugin, status.message) == ("Gpu", "taken")


def test_restoring_is_announced_once_per_attempt() -> None:
    told: list[str] = []
    listens = made(
        "Listens",
        pre_restore_reservation=lambda self, cycle, pod: told.append(pod.name),
        restore_reservation=lambda self, *arguments: 1,
        filter=lambda *a: None,
    )
    stage = Stage(listens).nodes("n", "m")
    handle, cycle = stage.plugin("Listens").handle, Cycle("p", 0.0)
    for name in ("n", "m"):
        view = stage.engine.view.node(name)
        assert handle.restore_reservations(cycle, pod("p"), [], [], view) == {"Listens": 1}
    assert told == ["p"]
    handle.restore_reservations(Cycle("p", 1.0), pod("q"), [], [], stage.engine.view.node("n"))
    assert told == ["p", "q"]
