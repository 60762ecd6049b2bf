"""Both forms of filter and score: one node at a time and over columns, whichever the plugin has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mooring.cluster.cluster import Cluster
from mooring.cluster.columns import NodeColumns, StaticColumns
from mooring.cluster.view import ClusterView, NodeView, StaticNode
from mooring.errors import PluginFailed
from mooring.framework.api.answers import Mask
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.normalize import maximum
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.pod_shape import PodShape
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Code, Status, skip, unresolvable, unschedulable
from mooring.framework.running.forms import VECTOR_ONLY, Filter, Scorer
from mooring.model.objects import Pod

Make = Callable[..., Any]
SMALL = unschedulable("node(s) were small")
ROWS = {"big": 0, "small": 2}  # row 1 is free


class PerNode(Plugin):
    """Rejects `small`; scores by cpu."""

    def filter(self, cycle: Cycle, pod: Pod, node: StaticNode) -> Status | None:
        return SMALL if node.allocatable("cpu") < 4000 else None

    def score(self, cycle: Cycle, pod: Pod, node: StaticNode) -> int:
        return node.allocatable("cpu") // 100


class Vector(Plugin):
    """The same over columns."""

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: StaticColumns) -> Any:
        return Mask(nodes.allocatable("cpu") >= 4000, SMALL)

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: StaticColumns) -> Any:
        return nodes.allocatable("cpu") // 100


class Asking:
    """Asks a form about nodes."""

    def __init__(self, form: Any, cluster: Cluster, view: ClusterView, pod: Pod) -> None:
        self.form, self.cluster, self.view, self.pod = form, cluster, view, pod
        self.cycle = Cycle("mine", 0.0)

    def one(self, name: str) -> Any:
        node = self.view.node(name)
        assert node is not None
        table = self.cluster.nodes
        shown = self.form.shown(self.pod)
        return self.form.one(self.cycle, shown, self.form.view(node), table, self.view)

    def many(self, among: list[bool] | None = None, rows: list[int] | None = None) -> list[Any]:
        table = self.cluster.nodes
        columns = self.form.columns(table, self.view, None if rows is None else np.array(rows, np.intp))
        asked = columns.alive if among is None else np.array(among)
        return self.form.many(self.cycle, self.form.shown(self.pod), columns, asked, table).tolist()


@pytest.fixture
def asking(make: Make, cluster: Cluster, view: ClusterView, pod: Make) -> Callable[..., Asking]:
    def ask(kind: type[Filter] | type[Scorer], plugin: type[Plugin]) -> Asking:
        form = kind.of(make(plugin))
        assert form is not None
        return Asking(form, cluster, view, pod())

    return ask


both = pytest.mark.parametrize("plugin", [PerNode, Vector])


@both
def test_one_node_is_filtered(asking: Make, plugin: type[Plugin]) -> None:
    asked = asking(Filter, plugin)
    assert asked.one("big") is None
    assert asked.one("small") == SMALL.by(plugin.name)


@both
def test_many_nodes_are_filtered(asking: Make, plugin: type[Plugin]) -> None:
    asked = asking(Filter, plugin)
    assert asked.many() == [True, False, False]
    assert asked.many(among=[False, False, True]) == [False, False, False]
    assert asked.many(among=[False] * 3) == [False] * 3
    assert asked.many(rows=[2, 0]) == [False, True]


@both
def test_one_node_is_scored(asking: Make, plugin: type[Plugin]) -> None:
    asked = asking(Scorer, plugin)
    scores = [asked.one(name) for name in ("big", "small")]
    assert scores == [80, 20]
    assert [type(score) for score in scores] == [int, int]


@both
def test_many_nodes_are_scored(asking: Make, plugin: type[Plugin]) -> None:
    asked = asking(Scorer, plugin)
    assert [asked.many()[row] for row in ROWS.values()] == [80, 20]
    assert asked.many(rows=[2, 0]) == [20, 80]
    assert asked.many(among=[True, False, False])[0] == 80


def test_a_loop_asks_about_the_wanted_nodes_only(asking: Make) -> None:
    seen = []

    class Curious(Plugin):
        def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> None:
            seen.append(node.name)

        def score(self, cycle: Cycle, pod: Pod, node: NodeView) -> int:
            seen.append(node.name)
            return 1

    for kind in (Filter, Scorer):
        asking(kind, Curious).many(among=[False, False, True])
        asking(kind, Curious).many(rows=[0], among=[True])
    assert seen == ["small", "big"] * 2


def test_a_plugin_without_the_point_has_no_form(make: Make) -> None:
    class Neither(Plugin):
        def permit(self, cycle: Cycle, pod: Pod, node_name: str) -> None: ...

    assert Filter.of(make(Neither)) is None
    assert Scorer.of(make(Neither)) is None


def test_booleans_alone_are_a_mask_without_a_reason_of_its_own(asking: Make) -> None:
    class Bare(Plugin):
        def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Any:
            return nodes.pod_count == 0

    asked = asking(Filter, Bare)
    assert asked.many() == [True, False, False]
    assert asked.one("small") == VECTOR_ONLY.by("Bare")


def test_a_mask_may_say_that_eviction_cannot_help(asking: Make) -> None:
    class Firm(Plugin):
        def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Any:
            return Mask(~nodes.alive, unresolvable("never"))

    status = asking(Filter, Firm).one("big")
    assert (status.code, status.plugin) == (Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "Firm")


FILTERED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a list": (lambda nodes: [True] * len(nodes), "filter_nodes returned [True"),
    "nothing": (lambda nodes: None, "filter_nodes returned None, not "),
    "integers": (lambda nodes: nodes.max_pods, "filter_nodes returned an array of int64 of shape"),
    "too few": (lambda nodes: nodes.alive[:0], "filter_nodes returned an array of bool of shape (0,), not "),
    "a mask of nonsense": (lambda nodes: Mask("yes", SMALL), "filter_nodes returned 'yes', not "),
    "a mask without a status": (
        lambda nodes: Mask(nodes.alive, "no"),
        "returned 'no', which is neither a Status nor None",
    ),
    "a mask that rejects with success": (
        lambda nodes: Mask(nodes.alive, Status()),
        "filter_nodes returned a Mask that rejects with success",
    ),
    "a mask that skips": (lambda nodes: Mask(nodes.alive, skip()), "returned SKIP"),
}


@pytest.mark.parametrize(("answer", "what"), FILTERED.values(), ids=FILTERED)
def test_nonsense_from_a_vector_filter(asking: Make, answer: Callable[[Any], Any], what: str) -> None:
    class Odd(Plugin):
        def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Any:
            return answer(nodes)

    for ask in (lambda: asking(Filter, Odd).many(), lambda: asking(Filter, Odd).one("big")):
        with pytest.raises(PluginFailed) as failure:
            ask()
        assert str(failure.value).startswith('running "Odd" filter plugin: ')
        assert what in str(failure.value)


SCORED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "floats": (lambda nodes: nodes.max_pods * 0.5, "score_nodes returned an array of float64 of shape"),
    "booleans": (lambda nodes: nodes.alive, "score_nodes returned an array of bool of shape"),
    "a list": (lambda nodes: [1] * len(nodes), "score_nodes returned [1"),
    "too few": (lambda nodes: nodes.max_pods[:0], "of shape (0,), not "),
    "too high": (lambda nodes: nodes.max_pods, "returns an invalid score 110"),
    "too low": (lambda nodes: nodes.max_pods * 0 - 1, "returns an invalid score -1"),
}


@pytest.mark.parametrize(("answer", "what"), SCORED.values(), ids=SCORED)
def test_nonsense_from_a_vector_score(asking: Make, answer: Callable[[Any], Any], what: str) -> None:
    class Odd(Plugin):
        def score_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Any:
            return answer(nodes)

    for ask in (lambda: asking(Scorer, Odd).many(), lambda: asking(Scorer, Odd).one("big")):
        with pytest.raises(PluginFailed) as failure:
            ask()
        assert failure.value.plugin == "Odd"
        assert what in str(failure.value)


def test_scores_of_nodes_nobody_asked_about_do_not_matter(asking: Make) -> None:
    class Odd(Plugin):
        def score_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Any:
            return np.where(nodes.alive, 7, -1)

    assert asking(Scorer, Odd).many() == [7, -1, 7]


@pytest.mark.parametrize("kind", [Filter, Scorer])
@pytest.mark.parametrize("form", ["one", "many"])
def test_what_a_plugin_raises_is_its_failure(asking: Make, kind: Any, form: str) -> None:
    class Broken(Plugin):
        def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> None:
            raise ValueError("no zone")

        def score(self, cycle: Cycle, pod: Pod, node: NodeView) -> int:
            raise ValueError("no zone")

    asked = asking(kind, Broken)
    with pytest.raises(PluginFailed, match="ValueError: no zone"):
        asked.one("big") if form == "one" else asked.many()


@pytest.mark.parametrize("form", ["one", "many"])
def test_per_node_answers_are_checked(asking: Make, form: str) -> None:
    class Odd(Plugin):
        def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> Any:
            return skip()

        def score(self, cycle: Cycle, pod: Pod, node: NodeView) -> int:
            return 101

    for kind, what in ((Filter, "returned SKIP"), (Scorer, "invalid score 101")):
        asked = asking(kind, Odd)
        with pytest.raises(PluginFailed, match=what):
            asked.one("big") if form == "one" else asked.many()


# what plugins are shown


class Watching(Plugin):
    """Notes what it is shown."""

    seen: list[Any]

    def filter(self, cycle: Cycle, pod: Any, node: Any) -> None:
        self.seen += [type(pod), type(node)]

    def score_nodes(self, cycle: Cycle, pod: Any, nodes: Any) -> Any:
        self.seen += [type(pod), type(nodes), type(nodes.at_row(0))]
        return nodes.max_pods * 0


@pytest.mark.parametrize(
    ("scope", "shown"),
    [
        (Scope.STATIC, [PodShape, StaticNode, StaticColumns, StaticNode]),
        (Scope.ROW, [PodShape, NodeView, NodeColumns, NodeView]),
        (Scope.DOMAIN, [PodShape, NodeView, NodeColumns, NodeView]),
        (Scope.CLUSTER, [Pod, NodeView, NodeColumns, NodeView]),
    ],
    ids=lambda value: value.name if isinstance(value, Scope) else "",
)
def test_a_plugin_is_shown_what_it_declares(asking: Make, scope: Scope, shown: list[type]) -> None:
    pods, node, columns, at_row = shown
    plugin = type("Watching", (Watching,), {"scope": scope, "seen": []})
    asking(Filter, plugin).one("big")
    asking(Filter, plugin).many(among=[True, False, False])
    assert plugin.seen == [pods, node] * 2  # type: ignore[attr-defined]
    plugin.seen.clear()  # type: ignore[attr-defined]
    asking(Scorer, plugin).one("big")
    asking(Scorer, plugin).many()
    assert plugin.seen == [pods, columns, at_row] * 2  # type: ignore[attr-defined]


def test_a_plugin_that_signs_pods_sees_them_whole(asking: Make) -> None:
    class Signing(Watching):
        scope = Scope.ROW
        seen: list[Any] = []

        def sign(self, pod: Pod) -> str:
            return pod.name

    asking(Filter, Signing).one("big")
    assert Signing.seen == [Pod, NodeView]


# normalising


class Raw(Plugin):
    """Scores beyond 100."""

    def score(self, cycle: Cycle, pod: Pod, node: StaticNode) -> int:
        return node.allocatable("cpu")


def doubled(values: Any) -> Any:
    return [2 * value for value in values]


def by_method(self: Any, values: Any) -> Any:
    assert isinstance(self, Raw)
    return doubled(values)


@pytest.mark.parametrize(
    "normalize",
    [doubled, staticmethod(doubled), by_method, staticmethod(lambda values: np.array(values) * 2)],
    ids=["a plain function", "a static method", "a method", "an array"],
)
def test_normalisers_of_every_kind(asking: Make, normalize: Any) -> None:
    form = asking(Scorer, type("P", (Raw,), {"normalize": normalize})).form
    assert form.raw
    assert form.normalized([1, 50]) == [2, 100]
    assert [type(score) for score in form.normalized([1])] == [int]


def test_raw_scores_may_be_of_any_size(asking: Make) -> None:
    asked = asking(Scorer, type("P", (Raw,), {"normalize": staticmethod(maximum)}))
    assert asked.one("big") == 8000
    assert [asked.many()[row] for row in ROWS.values()] == [8000, 2000]
    assert asked.form.normalized([2000, 8000]) == [25, 100]


def test_without_a_normaliser_scores_are_final(asking: Make) -> None:
    assert not asking(Scorer, PerNode).form.raw


@pytest.mark.parametrize(
    ("normalize", "what"),
    [
        (lambda values: values[1:], "returned [2] for 2 values"),
        (lambda values: (v for v in values), "for 2 values"),
        (lambda values: [1, 200], "returns an invalid score 200"),
        (lambda values: [1, 0.5], "returned 0.5, which is not an integer"),
        (lambda values: 1 // 0, "ZeroDivisionError"),
    ],
    ids=["too few", "a generator", "out of range", "no integer", "an exception"],
)
def test_nonsense_from_a_normaliser(asking: Make, normalize: Any, what: str) -> None:
    form = asking(Scorer, type("P", (Raw,), {"normalize": staticmethod(normalize)})).form
    with pytest.raises(PluginFailed) as failure:
        form.normalized([1, 2])
    assert what in str(failure.value)
