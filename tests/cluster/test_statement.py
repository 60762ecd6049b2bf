"""Statements: every change, and its undoing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mooring.cluster.cluster import Cluster
from mooring.cluster.pods import Hold, Placed
from mooring.cluster.statement import Statement
from mooring.errors import ClusterError
from mooring.model.objects import ContainerStatus, PodStatus, ResourceRequirements

Make = Callable[..., Any]

GPU = "nvidia.com/gpu"


@pytest.fixture
def busy(two_nodes: Cluster, node: Make, pod: Make) -> Cluster:
    """On `a` an assumed and a bound pod, on `b` one that is on its way out and one that waits for it."""
    with two_nodes.statement() as statement:
        statement.put_node(node("a", **{GPU: "4"}))
        statement.take(pod("assumed", {"cpu": "1"}, ports=(80,)), "a")
        statement.take(pod("bound", {"cpu": "2", GPU: "1"}, on="a"), "a", bound=True)
        statement.take(pod("leaving", {"cpu": "3"}, on="b"), "b", bound=True)
        statement.evict("leaving")
        statement.pipeline(pod("promised", {"cpu": "2"}), "b")
        statement.take(pod("homeless", {"cpu": "1"}, on="nowhere"), "nowhere", bound=True)
    return two_nodes


# each change, done and undone

CHANGES: dict[str, Callable[[Statement, Make, Make], object]] = {
    "take": lambda s, node, pod: s.take(pod("new", {"cpu": "1", GPU: "1"}, ports=(80,)), "b"),
    "take bound": lambda s, node, pod: s.take(pod("new", {"cpu": "1"}, on="b"), "b", bound=True),
    "take on a node nobody knows": lambda s, node, pod: s.take(pod("new", on="c"), "c", bound=True),
    "give back assumed": lambda s, node, pod: s.give_back("assumed"),
    "give back leaving": lambda s, node, pod: s.give_back("leaving"),
    "give back promised": lambda s, node, pod: s.give_back("promised"),
    "give back homeless": lambda s, node, pod: s.give_back("homeless"),
    "evict assumed": lambda s, node, pod: s.evict("assumed"),
    "evict bound": lambda s, node, pod: s.evict("bound"),
    "keep leaving": lambda s, node, pod: s.keep("leaving"),
    "evict homeless": lambda s, node, pod: s.evict("homeless"),
    "pipeline": lambda s, node, pod: s.pipeline(pod("new", {"cpu": "1"}, ports=(81,)), "b"),
    "confirm assumed": lambda s, node, pod: s.confirm(pod("assumed", {"cpu": "1"}, on="a", ports=(80,))),
    "confirm with other labels": lambda s, node, pod: s.confirm(
        pod("bound", {"cpu": "2", GPU: "1"}, on="a", labels={"x": "y"})
    ),
    "confirm elsewhere": lambda s, node, pod: s.confirm(pod("assumed", {"cpu": "1"}, on="b", ports=(80,))),
    "confirm with more": lambda s, node, pod: s.confirm(pod("bound", {"cpu": "3"}, on="a")),
    "confirm leaving": lambda s, node, pod: s.confirm(
        pod("leaving", {"cpu": "3"}, on="b", labels={"x": "y"})
    ),
    "confirm leaving with less": lambda s, node, pod: s.confirm(pod("leaving", {"cpu": "1"}, on="b")),
    "confirm promised": lambda s, node, pod: s.confirm(pod("promised", {"cpu": "2"}, on="b")),
    "confirm homeless": lambda s, node, pod: s.confirm(
        pod("homeless", {"cpu": "1"}, on="nowhere", labels={"x": "y"})
    ),
    "put a new node": lambda s, node, pod: s.put_node(node("c", labels={"x": "y"}, images={"app": 1})),
    "put a changed node": lambda s, node, pod: s.put_node(node("a", "1", taints=("t",), unschedulable=True)),
    "put the missing node": lambda s, node, pod: s.put_node(node("nowhere")),
    "drop a node": lambda s, node, pod: s.drop_node("a"),
    "drop a node with releasing and promised pods": lambda s, node, pod: s.drop_node("b"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_rolling_back_restores_everything(
    busy: Cluster, node: Make, pod: Make, picture: Make, change: Callable[..., object]
) -> None:
    before = picture(busy)
    statement = busy.statement()
    change(statement, node, pod)
    busy.check()
    assert picture(busy) != before
    statement.roll_back()
    busy.check()
    after = picture(busy)
    assert not any(after.pop("free").values())  # a row may have been added, and stays free
    before.pop("free")
    assert after == before


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_committing_keeps_the_change(
    busy: Cluster, node: Make, pod: Make, picture: Make, change: Callable[..., object]
) -> None:
    statement = busy.statement()
    change(statement, node, pod)
    changed = picture(busy)
    statement.commit()
    statement.roll_back()
    assert picture(busy) == changed


# what each change does


def test_a_taken_place_is_charged(busy: Cluster, pod: Make, column: Make) -> None:
    with busy.statement() as statement:
        placed = statement.take(pod("new", {"cpu": "500m", GPU: "1"}), "b")
    assert (placed.node, placed.row, placed.hold) == ("b", 1, Hold.ASSUMED)
    assert column(busy, "cpu", "requested") == [3000, 3500]
    assert column(busy, GPU, "requested") == [1, 1]
    assert busy.nodes.pods.array[:2].tolist() == [2, 2]
    assert busy.nodes.nonzero_cpu_milli.array[:2].tolist() == [3000, 3500]


def test_a_place_given_back_is_free(busy: Cluster, column: Make) -> None:
    with busy.statement() as statement:
        assert statement.give_back("bound").pod.name == "bound"
        statement.give_back("assumed")
    assert column(busy, "cpu", "requested") == [0, 3000]
    assert column(busy, GPU, "requested") == [0, 0]
    assert busy.nodes.ports.clashing_rows([("0.0.0.0", "TCP", 80)]) == set()
    assert "bound" not in busy.pods.by_uid


def test_an_evicted_pod_holds_its_place_until_it_gives_it_back(busy: Cluster, column: Make) -> None:
    with busy.statement() as statement:
        assert statement.evict("bound").hold is Hold.RELEASING
    assert column(busy, "cpu", "requested") == [3000, 3000]
    assert column(busy, GPU, "requested") == [1, 0]
    with busy.statement() as statement:
        statement.give_back("bound")
    assert column(busy, "cpu", "requested") == [1000, 3000]
    assert column(busy, GPU, "requested") == [0, 0]


def test_a_pod_that_is_kept_is_on_its_way_out_no_more(busy: Cluster, column: Make) -> None:
    with busy.statement() as statement:
        assert statement.keep("leaving").hold is Hold.BOUND
        assert statement.keep("assumed").hold is Hold.ASSUMED  # it was never on its way
    assert column(busy, "cpu", "requested") == [3000, 3000]


def test_a_pod_put_back_holds_its_place_as_before(busy: Cluster, picture: Make) -> None:
    before = picture(busy)
    with busy.statement() as statement:
        for uid in ("assumed", "leaving", "promised"):
            statement.put_back(statement.give_back(uid))
    assert picture(busy) == before


def test_a_promised_pod_holds_nothing(busy: Cluster, column: Make) -> None:
    assert busy.pods.by_uid["promised"].hold is Hold.PROMISED
    assert column(busy, "cpu", "requested") == [3000, 3000]
    assert busy.nodes.pods.array[:2].tolist() == [2, 1]


def test_a_promised_pod_does_not_use_its_ports(busy: Cluster, pod: Make) -> None:
    with busy.statement() as statement:
        statement.pipeline(pod("new", ports=(443,)), "b")
    assert busy.nodes.ports.clashing_rows([("0.0.0.0", "TCP", 443)]) == set()


def test_confirming_turns_assumed_into_bound(busy: Cluster, pod: Make, column: Make) -> None:
    seen = pod("assumed", {"cpu": "1"}, on="a", ports=(80,))
    with busy.statement() as statement:
        placed = statement.confirm(seen)
    assert (placed.hold, placed.pod) == (Hold.BOUND, seen)
    assert column(busy, "cpu", "requested") == [3000, 3000]


def test_confirming_elsewhere_moves_the_charge(busy: Cluster, pod: Make, column: Make) -> None:
    with busy.statement() as statement:
        placed = statement.confirm(pod("assumed", {"cpu": "1"}, on="b", ports=(80,)))
    assert (placed.node, placed.row) == ("b", 1)
    assert column(busy, "cpu", "requested") == [2000, 4000]
    assert busy.nodes.ports.clashing_rows([("0.0.0.0", "TCP", 80)]) == {1}


def test_confirming_follows_a_resize(busy: Cluster, pod: Make, column: Make) -> None:
    in_use = ContainerStatus(name="main", resources=ResourceRequirements(requests={"cpu": "4"}))
    with busy.statement() as statement:
        statement.confirm(pod("bound", {"cpu": "2"}, on="a", status=PodStatus(container_statuses=(in_use,))))
    assert column(busy, "cpu", "requested") == [5000, 3000]
    assert column(busy, GPU, "requested") == [0, 0]


@pytest.mark.parametrize("cpu", ["3", "1"], ids=["as it was", "resized"])
def test_a_pod_on_its_way_out_stays_so_when_confirmed(
    busy: Cluster, pod: Make, column: Make, cpu: str
) -> None:
    with busy.statement() as statement:
        placed = statement.confirm(pod("leaving", {"cpu": cpu}, on="b"))
    assert placed is busy.pods.by_uid["leaving"]
    assert placed.hold is Hold.RELEASING
    assert column(busy, "cpu", "requested") == [3000, int(cpu) * 1000]


def test_a_promise_that_is_kept_becomes_a_place(busy: Cluster, pod: Make, column: Make) -> None:
    with busy.statement() as statement:
        placed = statement.confirm(pod("promised", {"cpu": "2"}, on="b"))
    assert placed.hold is Hold.BOUND
    assert column(busy, "cpu", "requested") == [3000, 5000]


def test_a_homeless_pod_is_charged_when_its_node_appears(busy: Cluster, node: Make, column: Make) -> None:
    assert busy.pods.by_uid["homeless"].row is None
    with busy.statement() as statement:
        statement.evict("homeless")
        statement.put_node(node("nowhere"))
    assert busy.pods.by_uid["homeless"].row == 2
    assert column(busy, "cpu", "requested") == [3000, 3000, 1000]
    assert busy.pods.homeless == {}


def test_pods_of_a_dropped_node_stay_known_and_charge_nobody(busy: Cluster, node: Make, column: Make) -> None:
    with busy.statement() as statement:
        statement.drop_node("b")
    assert list(busy.pods.homeless["b"]) == ["leaving", "promised"]
    assert busy.pods.by_uid["leaving"].row is None
    with busy.statement() as statement:
        statement.give_back("leaving")
        statement.put_node(node("b"))
    assert column(busy, "cpu", "requested") == [3000, 0]
    assert busy.pods.by_uid["promised"].row == 1


# what is refused

REFUSED: dict[str, tuple[Callable[[Statement, Make], object], str]] = {
    "taking twice": (lambda s, pod: s.take(pod("assumed"), "b"), "default/assumed holds a place already"),
    "promising what is taken": (lambda s, pod: s.pipeline(pod("bound"), "b"), "holds a place already"),
    "taking what is promised": (lambda s, pod: s.take(pod("promised"), "b"), "holds a place already"),
    "an unknown node": (
        lambda s, pod: s.take(pod("new"), "c"),
        "there is no node 'c' for default/new to take a place on",
    ),
    "a promise on an unknown node": (
        lambda s, pod: s.pipeline(pod("new"), "c"),
        "there is no node 'c' to promise default/new room on",
    ),
    "dropping an unknown node": (lambda s, pod: s.drop_node("c"), "there is no node 'c' to drop"),
    "giving back nothing": (lambda s, pod: s.give_back("new"), "no pod with uid 'new' holds a place"),
    "evicting nobody": (lambda s, pod: s.evict("new"), "no pod with uid 'new' holds a place"),
    "confirming nobody": (lambda s, pod: s.confirm(pod("new", on="a")), "no pod with uid 'new'"),
    "evicting twice": (
        lambda s, pod: s.evict("leaving"),
        "default/leaving is releasing: it cannot be evicted",
    ),
    "evicting a promise": (lambda s, pod: s.evict("promised"), "default/promised is promised: it cannot"),
    "an unknown checkpoint": (lambda s, pod: s.roll_back(1), "no checkpoint 1 in a statement of 0 changes"),
}


@pytest.mark.parametrize(("change", "message"), REFUSED.values(), ids=REFUSED)
def test_refusing_changes_nothing(
    busy: Cluster, pod: Make, picture: Make, change: Callable[..., object], message: str
) -> None:
    before = picture(busy)
    statement = busy.statement()
    with pytest.raises(ClusterError, match=message):
        change(statement, pod)
    assert picture(busy) == before
    assert statement.checkpoint() == 0


# statements as a whole


def test_rolling_back_to_a_checkpoint_keeps_what_came_before(
    two_nodes: Cluster, pod: Make, column: Make
) -> None:
    statement = two_nodes.statement()
    statement.take(pod("one", {"cpu": "1"}), "a")
    mark = statement.checkpoint()
    statement.take(pod("two", {"cpu": "1"}), "a")
    statement.evict("one")
    statement.roll_back(mark)
    assert column(two_nodes, "cpu", "requested") == [1000, 0]
    assert two_nodes.pods.by_uid["one"].hold is Hold.ASSUMED
    assert set(two_nodes.pods.by_uid) == {"one"}
    statement.roll_back()
    assert not two_nodes.pods.by_uid


def test_changes_are_seen_before_they_are_final(two_nodes: Cluster, pod: Make, column: Make) -> None:
    statement = two_nodes.statement()
    statement.take(pod("one", {"cpu": "1"}), "a")
    assert column(two_nodes, "cpu", "requested") == [1000, 0]
    statement.roll_back()


def test_an_error_in_the_block_rolls_back(two_nodes: Cluster, pod: Make, picture: Make) -> None:
    before = picture(two_nodes)

    def fail_half_way() -> None:
        with two_nodes.statement() as statement:
            statement.take(pod("one", {"cpu": "1"}), "a")
            statement.drop_node("b")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_half_way()
    assert picture(two_nodes) == before
    assert two_nodes.history.position == 2


@pytest.fixture
def told(two_nodes: Cluster) -> list[tuple[str, str]]:
    """What an observer is told."""
    said: list[tuple[str, str]] = []

    class Observer:
        def taken(self, placed: Placed) -> None:
            said.append(("taken", placed.pod.name))

        def given_back(self, placed: Placed) -> None:
            said.append(("given back", placed.pod.name))

        def evicted(self, placed: Placed) -> None:
            said.append(("evicted", placed.pod.name))

        def kept(self, placed: Placed) -> None:
            said.append(("kept", placed.pod.name))

    two_nodes.observers.append(Observer())
    return said


def test_observers_are_told_of_evictions_and_of_their_undoing(
    two_nodes: Cluster, pod: Make, told: list[tuple[str, str]]
) -> None:
    with two_nodes.statement() as statement:
        statement.take(pod("one"), "a")
    statement = two_nodes.statement()
    statement.evict("one")
    statement.keep("one")
    statement.keep("one")
    statement.roll_back()
    assert [kind for kind, _ in told] == ["taken", "evicted", "kept", "evicted", "kept"]


def test_observers_are_not_told_of_the_past(
    two_nodes: Cluster, pod: Make, told: list[tuple[str, str]]
) -> None:
    with two_nodes.statement() as statement:
        statement.take(pod("one"), "a")
    told.clear()
    assert not two_nodes.as_of(two_nodes.history.position - 1).pods.by_uid
    assert told == []
    with two_nodes.statement() as statement:
        statement.give_back("one")
    assert told == [("given back", "one")]


def test_observers_are_told_of_places_taken_and_given_back_also_in_trials(
    two_nodes: Cluster, pod: Make, told: list[tuple[str, str]]
) -> None:
    statement = two_nodes.statement()
    statement.take(pod("one"), "a")
    statement.take(pod("two"), "a")
    statement.give_back("one")
    statement.roll_back()
    names = ["one", "two", "one", "one", "two", "one"]
    kinds = ["taken", "taken", "given back", "taken", "given back", "given back"]
    assert told == list(zip(kinds, names, strict=True))


@pytest.mark.parametrize(
    ("change", "written"),
    [
        pytest.param({}, [], id="the same again"),
        pytest.param({"resource_version": "2"}, [], id="another version"),
        pytest.param({"labels": {"x": "y"}}, [0], id="other labels"),
        pytest.param({"annotations": {"x": "y"}}, [0], id="other annotations"),
        pytest.param({"deletion_timestamp": "2026-01-01T00:00:00Z"}, [0], id="being deleted"),
        pytest.param({"status": PodStatus(phase="Running")}, [0], id="another status"),
        pytest.param({"image": "app:2"}, [0], id="another image"),
    ],
)
def test_confirming_is_written_to_the_journal_when_plugins_can_tell(
    two_nodes: Cluster, pod: Make, change: dict[str, Any], written: list[int]
) -> None:
    with two_nodes.statement() as statement:
        statement.take(pod("p", {"cpu": "1"}, image="app:1"), "a")
    position = two_nodes.nodes.journal.position
    with two_nodes.statement() as statement:
        statement.confirm(pod("p", {"cpu": "1"}, on="a", **{"image": "app:1", **change}))
    assert two_nodes.nodes.journal.since(position) == written
