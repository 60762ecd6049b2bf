"""A plugin that raises or answers nonsense costs its pod one cycle, is named, and harms nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.stage import Stage, made, node, pod
from mooring.engine.decisions import Bind, Wait
from mooring.engine.queue.heap import Heap
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.framework.api.answers import PostFilterResult
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Code, Status, error, skip, unschedulable
from mooring.model.objects import Pod

BAD = {"bad": "1"}


class Boom:
    """Stands for raising."""


def answering(answer: Any) -> Any:
    """A method that does something bad for pods that ask for it, and nothing otherwise."""

    def method(self: Any, *arguments: Any) -> Any:
        subject = next(a for a in arguments if hasattr(a, "labels") and hasattr(a, "spec"))
        if not subject.labels.get("bad"):
            return None
        if answer is Boom:
            raise RuntimeError("boom")
        return answer

    return method


def scoring(answer: Any) -> Any:
    bad = answering(answer)

    def method(self: Any, *arguments: Any) -> Any:
        found = bad(self, *arguments)
        return 0 if found is None else found

    return method


NO_OP = lambda self, *arguments: None  # noqa: E731
OTHER_POD = pod("somebody else")


def case(point: str, answer: Any, text: str, label: str, cpu: str = "1") -> Any:
    name = "raises" if answer is Boom else label
    return pytest.param(point, answer, text, cpu, id=f"{point}-{name}")


CASES = [
    case("before_pre_filter", Boom, 'running before_pre_filter of plugin "Bad": RuntimeError: boom', ""),
    case("before_pre_filter", 7, "returned 7, which is neither a Status nor None", "number"),
    case("before_pre_filter", skip(), "returned SKIP", "skips"),
    case("before_pre_filter", OTHER_POD, "which is another pod", "another pod"),
    case("pre_filter", Boom, 'running PreFilter plugin "Bad": RuntimeError: boom', ""),
    case("pre_filter", ["n"], "which is neither a Status nor None", "list"),
    case("after_pre_filter", Boom, 'running after_pre_filter of plugin "Bad": RuntimeError: boom', ""),
    case("after_pre_filter", "n", "which is neither a Status nor None", "text"),
    case("find_one_node", Boom, 'running find_one_node of plugin "Bad": RuntimeError: boom', ""),
    case("find_one_node", 7, "returned 7", "number"),
    case("before_filter", Boom, 'running before_filter of plugin "Bad": RuntimeError: boom', ""),
    case("before_filter", 7, "returned 7, which is neither a Status nor None", "number"),
    case("before_filter", (1, 2), "returned (1, 2), which is not a pod and a node", "pair"),
    case("before_filter", skip(), "returned SKIP", "skips"),
    case("filter", Boom, 'running "Bad" filter plugin: RuntimeError: boom', ""),
    case("filter", True, "returned True, which is neither a Status nor None", "true"),
    case("filter", skip(), "returned SKIP", "skips"),
    case("filter", error("oops"), 'running "Bad" filter plugin: oops', "error"),
    case("post_filter", Boom, 'running PostFilter plugin "Bad": RuntimeError: boom', "", cpu="8"),
    case("post_filter", 7, "returned 7", "number", cpu="8"),
    case(
        "post_filter", PostFilterResult("n", (OTHER_POD,)), 'PostFilter plugin "Bad": ', "no victim", cpu="8"
    ),
    case("after_post_filter", Boom, 'running after_post_filter of plugin "Bad": RuntimeError', "", cpu="8"),
    case("before_score", Boom, 'running before_score of plugin "Bad": RuntimeError: boom', ""),
    case("before_score", 7, "returned 7, which is neither a Status nor None", "number"),
    case("before_score", (1, 2), "which is not a pod and nodes", "pair"),
    case("before_score", (OTHER_POD, ["n"]), "which is not a pod and nodes", "names"),
    case("pre_score", Boom, 'running PreScore plugin "Bad": RuntimeError: boom', ""),
    case("pre_score", unschedulable("x"), "returned UNSCHEDULABLE", "rejects"),
    case("allocate", Boom, 'running allocate of plugin "Bad": RuntimeError: boom', ""),
    case("allocate", "gpu0", "returned 'gpu0'", "text"),
    case("resize_pod", Boom, 'running resize_pod of plugin "Bad": RuntimeError: boom', ""),
    case("resize_pod", OTHER_POD, "which is another pod", "another pod"),
    case("reserve", Boom, 'running Reserve plugin "Bad": RuntimeError: boom', ""),
    case("reserve", skip(), "returned SKIP", "skips"),
    case("reserve", "n", "returned 'n'", "text"),
    case("permit", Boom, 'running Permit plugin "Bad": RuntimeError: boom', ""),
    case("permit", 60, "returned 60", "number"),
    case("pre_bind_patch", Boom, 'running pre_bind_patch of plugin "Bad": RuntimeError: boom', ""),
    case("pre_bind_patch", "x", "returned 'x', which is not a dict", "text"),
    case("sign", Boom, 'running sign of plugin "Bad": RuntimeError: boom', ""),
    case("sign", ["unhashable"], 'running sign of plugin "Bad": TypeError', "list"),
]


def bad_plugin(point: str, method: Any, scope: Scope = Scope.CLUSTER) -> type[Plugin]:
    """Enabled at filter and score whatever the point."""
    members = {"filter": NO_OP, "score": lambda self, *arguments: 0, point: method}
    return made("Bad", scope=scope, **members)


def suffers(stage: Stage, text: str, cpu: str = "1") -> None:
    """A bad pod fails with the text; others are placed before and after; it is tried again."""
    assert isinstance(stage.try_pod(pod("before", "100m")), Bind)
    refusal = stage.wait(p := pod("p", cpu, labels=BAD))
    assert (refusal.reason, refusal.plugins, refusal.nominated) == ("SchedulerError", ("Bad",), "")
    assert text in refusal.message
    assert "Bad" in refusal.message
    assert (stage.holds(p), stage.where(p)) == ("", "error_backoff")
    stage.place(pod("after", "100m"))
    stage.tick(5.0)
    assert stage.where(p) == "active"
    stage.engine.check()


@pytest.mark.parametrize(("point", "answer", "text", "cpu"), CASES)
def test_costs_its_pod_one_cycle(point: str, answer: Any, text: str, cpu: str) -> None:
    method = answering(answer)
    if point == "sign":
        sign = answering(answer)
        method = lambda self, pod: sign(self, pod) or 1  # noqa: E731
    suffers(Stage(bad_plugin(point, method)).nodes("n", "m"), text, cpu)


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (Boom, 'running Score plugins: plugin "Bad" failed with: RuntimeError: boom'),
        (
            101,
            'plugin "Bad" returns an invalid score 101, it should in the range of [0, 100] after normalizing',
        ),
        (-1, 'plugin "Bad" returns an invalid score -1, it should in the range'),
        ("high", "returned 'high', which is not an integer"),
        (1.5, "returned 1.5, which is not an integer"),
    ],
    ids=["raises", "too high", "too low", "text", "fraction"],
)
def test_scores(scope: Scope, answer: Any, text: str) -> None:
    suffers(Stage(bad_plugin("score", scoring(answer), scope)).nodes("n", "m"), text)


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize("answer", [Boom, True, Status(Code.WAIT)], ids=["raises", "true", "waits"])
def test_filters(scope: Scope, answer: Any) -> None:
    suffers(Stage(bad_plugin("filter", answering(answer), scope)).nodes("n", "m"), '"Bad" filter plugin')


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda n: "no", "filter_nodes returned 'no', not 2 booleans"),
        (lambda n: np.ones(n), "filter_nodes returned an array of float64"),
        (lambda n: np.ones(n + 1, np.bool_), "of shape (3,), not 2 booleans"),
    ],
    ids=["text", "floats", "too many"],
)
def test_vector_filters(scope: Scope, answer: Any, text: str) -> None:
    def filter_nodes(self: Any, cycle: Any, pod: Pod, nodes: Any) -> Any:
        return answer(len(nodes)) if pod.labels.get("bad") else np.ones(len(nodes), np.bool_)

    plugin = made("Bad", scope=scope, filter_nodes=filter_nodes)
    suffers(Stage(plugin).nodes("n", "m"), text)


@pytest.mark.parametrize("scope", list(Scope))
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda n: None, "score_nodes returned None, not 2 integers"),
        (lambda n: np.ones(n), "score_nodes returned an array of float64"),
        (lambda n: np.full(n, 200), "returns an invalid score 200"),
    ],
    ids=["none", "floats", "too high"],
)
def test_vector_scores(scope: Scope, answer: Any, text: str) -> None:
    def score_nodes(self: Any, cycle: Any, pod: Pod, nodes: Any) -> Any:
        return answer(len(nodes)) if pod.labels.get("bad") else np.zeros(len(nodes), np.int64)

    suffers(Stage(made("Bad", scope=scope, score_nodes=score_nodes)).nodes("n", "m"), text)


@pytest.mark.parametrize("scope", [Scope.STATIC, Scope.ROW, Scope.CLUSTER])
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (Boom, 'plugin "Bad" failed with: RuntimeError: boom'),
        ([1], "returned [1] for 2 values"),
        (None, "returned None for 2 values"),
        ([0, 101], "returns an invalid score 101"),
    ],
    ids=["raises", "too few", "none", "too high"],
)
def test_normalizers(scope: Scope, answer: Any, text: str) -> None:
    def score(self: Any, cycle: Any, pod: Pod, node: Any) -> int:
        return 1000 + node.row if pod.labels.get("bad") else 0

    def normalize(self: Any, values: list[int]) -> Any:
        if max(values) < 1000:
            return [0] * len(values)
        if answer is Boom:
            raise RuntimeError("boom")
        return answer

    suffers(Stage(made("Bad", scope=scope, score=score, normalize=normalize)).nodes("n", "m"), text)


def test_a_gate_that_fails_holds_its_pod() -> None:
    stage = Stage(made("Bad", pre_enqueue=answering(Boom), filter=NO_OP)).nodes("n")
    stage.add(p := pod("p", labels=BAD))
    queued = stage.queued(p)
    assert (stage.where(p), queued.gating_plugin) == ("unschedulable", "Bad")
    assert queued.gating_message == 'running pre_enqueue of plugin "Bad": RuntimeError: boom'
    assert stage.place(pod("q")) == "n"


def test_a_picker_of_pods_that_fails_is_passed_over() -> None:
    def next_pod(self: Any) -> Any:
        raise RuntimeError("boom")

    assert Stage(made("Bad", next_pod=next_pod, filter=NO_OP)).nodes("n").place(pod("p")) == "n"


@pytest.mark.parametrize("how", ["sort_key", "less"])
def test_an_order_that_fails_loses_no_pod(how: str) -> None:
    def broken(self: Any, *queued: Any) -> Any:
        if any(q.pod.labels.get("bad") for q in queued):
            raise RuntimeError("boom")
        return queued[0].pod.name if how == "sort_key" else queued[0].pod.name < queued[1].pod.name

    text = (
        "profiles:\n- plugins:\n    queueSort: {disabled: [{name: PrioritySort}], enabled: [{name: Bad}]}\n"
    )
    stage = Stage(made("Bad", **{how: broken}), text=text).nodes("n")
    stage.add(pod("c", "100m"), pod("a", "100m", labels=BAD), pod("b", "100m"))
    assert sorted(stage.all()) == ["a", "b", "c"]


class Moody:
    """A key that can only be compared with its like, and not always."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __lt__(self, other: Moody) -> bool:
        raise RuntimeError("not in the mood")


MIXED: dict[str, Any] = {
    "none": lambda name: None if name < "c" else name,
    "texts and numbers": lambda name: name if name in "ace" else ord(name),
    "arrays": lambda name: np.array([ord(name), 1]),
    "comparing raises": Moody,
}


@pytest.mark.parametrize("keys", list(MIXED))
def test_keys_that_cannot_be_compared_lose_no_pod(keys: str, caplog: pytest.LogCaptureFixture) -> None:
    def sort_key(self: Any, queued: Any) -> Any:
        return MIXED[keys](queued.pod.name)

    plugin = f"Bad {keys}"  # what a plugin does wrong is logged once
    text = (
        "profiles:\n- plugins:\n"
        f'    queueSort: {{disabled: [{{name: PrioritySort}}], enabled: [{{name: "{plugin}"}}]}}\n'
    )
    stage = Stage(made(plugin, sort_key=sort_key), text=text).nodes("n")
    names = ["f", "b", "e", "a", "d", "c", "g"]
    stage.add(*(pod(name, "100m") for name in names))
    stage.delete(pod("d"))
    assert sorted(stage.all()) == ["a", "b", "c", "e", "f", "g"]
    assert any(plugin in record.getMessage() for record in caplog.records)
    for name in names:
        stage.wait(pod(name.upper(), "64"))
    stage.nodes(node("large", "640"))  # all back off, in a heap of their own
    stage.tick(100.0)
    assert len(stage.all()) == len(names)


def test_keys_that_can_be_compared_keep_their_order() -> None:
    """A pod without a comparable key takes its turn among the others, who keep theirs."""
    heap = Heap(lambda queued: queued.timestamp if queued.timestamp >= 0 else None)
    for moment in (3.0, 1.0, 2.0):
        heap.push(QueuedPod(pod(str(moment)), moment))
    heap.push(odd := QueuedPod(pod("odd"), -1.0))
    heap.discard(odd)
    assert [queued.timestamp for _ in range(3) if (queued := heap.pop()) is not None] == [1.0, 2.0, 3.0]
    assert heap.pop() is None


def test_a_tie_breaker_that_fails() -> None:
    text = 'profiles:\n- pluginConfig: [{name: Mooring, args: {ties: "Bad"}}]\n'
    stage = Stage(made("Bad", score=scoring(Boom)), text=text).nodes("n", "m")
    refusal = stage.wait(pod("p", labels=BAD))
    assert refusal.message == 'running Score plugins: plugin "Bad" failed with: RuntimeError: boom'
    stage.place(pod("q"))


def test_a_plugin_that_recovers_is_heard_again() -> None:
    state = {"broken": True}

    def score(self: Any, cycle: Any, pod: Pod, node: Any) -> int:
        if state["broken"]:
            raise RuntimeError("boom")
        return 100 if node.name == "m" else 0

    stage = Stage(made("Bad", scope=Scope.ROW, score=score)).nodes("n", "m")
    for i in range(3):
        stage.wait(pod(f"p{i}", "100m"))
    state["broken"] = False
    assert [stage.place(pod(f"q{i}", "100m")) for i in range(3)] == ["m"] * 3


def test_a_victim_on_its_way_out_is_not_evicted_twice() -> None:
    victim = pod("victim", "4")
    post = made("Bad", post_filter=lambda self, cycle, pod, statuses: PostFilterResult("n", (victim,)))
    stage = Stage(post).nodes(node("n"))
    stage.running(victim, "n")
    stage.add(pod("p"), pod("q"))
    first, second = stage.cycle(), stage.cycle()
    assert [type(d).__name__ for d in first or ()] == ["Evict", "Wait"]
    assert second is not None
    (refusal,) = second
    assert isinstance(refusal, Wait)
    assert "default/victim is releasing" in refusal.message
    stage.engine.check()
