"""Random statements against a plain model of the cluster: nodes and pods in two dicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.sample_books import Everything, Numbers, Zones
from mooring.cluster import cluster as cluster_module
from mooring.cluster import nodes as nodes_module
from mooring.cluster.cluster import Cluster
from mooring.cluster.counts import PodCounts
from mooring.cluster.pods import Hold
from mooring.cluster.statement import Statement
from mooring.errors import ClusterError
from mooring.model.amounts import LARGEST
from mooring.model.objects import Node, Pod

Make = Callable[..., Any]
Operation = tuple[str, str, str, int]  # what, pod, node, variant

NODES, PODS = ("a", "b"), ("p", "q", "r")
REQUESTS = ({"cpu": "1"}, {"cpu": "500m", "memory": "1Gi", "ex.io/f": "2"}, {"memory": "8E", "ex.io/f": "3E"})
MOST_TAKEN = 2 * LARGEST - 1  # less than two of the pods that ask for too much
CHANGES = ("put", "drop", "take", "bound", "pipeline", "give_back", "evict", "confirm")
MARKS = ("checkpoint", "roll_back", "commit")
FRESH = {"take": Hold.ASSUMED, "bound": Hold.BOUND, "pipeline": Hold.PROMISED}

operations = st.lists(
    st.tuples(
        st.sampled_from((*CHANGES, "put", "put", "take", "bound", *MARKS)),
        st.sampled_from(PODS),
        st.sampled_from(NODES),
        st.integers(0, 2),
    ),
    min_size=30,  # shorter ones seldom come to undoing anything
    max_size=60,
)


class Model:
    """The obvious cluster. Dicts keep the order in which nodes joined and pods came."""

    def __init__(self, node: Make, pod: Make) -> None:
        self._make_node = node
        self._make_pod = pod
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, tuple[Pod, str, Hold]] = {}
        self.images: dict[str, tuple[int, frozenset[str]]] = {}

    def copy(self) -> Model:
        copy = Model(self._make_node, self._make_pod)
        copy.nodes, copy.pods, copy.images = dict(self.nodes), dict(self.pods), dict(self.images)
        return copy

    def node(self, name: str, variant: int) -> Node:
        size = {"a": 10, "b": 20}[name]
        return (
            self._make_node(name, "4", labels={"zone": name}, images={"app": size}),
            self._make_node(name, "2", taints=("t",), images={"app": size, f"own-{name}": 1}),
            self._make_node(name, "8", unschedulable=True, **{"ex.io/f": "4"}),
        )[variant]

    def pod(self, what: str, uid: str, node: str, variant: int) -> Pod:
        on = node if what in ("bound", "confirm") else ""
        labels = {"seen": "yes"} if what == "confirm" else {}
        return self._make_pod(uid, REQUESTS[variant], on=on, ports=(80,) * (variant == 1), labels=labels)

    def allows(self, what: str, uid: str, node: str) -> bool:
        match what:
            case "put":
                return True
            case "drop":
                return node in self.nodes
            case "bound":
                return uid not in self.pods
            case "take" | "pipeline":
                return uid not in self.pods and node in self.nodes
            case "evict":
                return uid in self.pods and self.pods[uid][2] in (Hold.ASSUMED, Hold.BOUND)
        return uid in self.pods

    def change(self, what: str, uid: str, node: str, variant: int) -> None:
        match what:
            case "put":
                self._report(node, self.node(node, variant))
                self.nodes[node] = self.node(node, variant)
            case "drop":
                self._report(node, None)
                del self.nodes[node]
            case "take" | "bound" | "pipeline":
                self.pods[uid] = (self.pod(what, uid, node, variant), node, FRESH[what])
            case "give_back":
                del self.pods[uid]
            case "evict":
                pod, place, _ = self.pods[uid]
                self.pods[uid] = (pod, place, Hold.RELEASING)
            case "confirm":
                self._confirm(self.pod(what, uid, node, variant), node)

    def _confirm(self, pod: Pod, node: str) -> None:
        old, place, hold = self.pods[pod.uid]
        same = (place, old.request, old.spec.host_ports) == (node, pod.request, pod.spec.host_ports)
        if not same or hold is Hold.PROMISED:
            del self.pods[pod.uid]  # it comes anew, and last
        self.pods[pod.uid] = (pod, node, Hold.RELEASING if hold is Hold.RELEASING else Hold.BOUND)

    def _report(self, name: str, new: Node | None) -> None:
        old = self.nodes.get(name)
        if old and new and old.status.images == new.status.images:
            return
        for image, (size, holders) in list(self.images.items()):
            self.images[image] = (size, holders - {name})
        self.images = {image: known for image, known in self.images.items() if known[1]}
        for reported in new.status.images if new else ():
            image = reported.names[0]
            size, holders = self.images.get(image, (reported.size_bytes, frozenset()))
            self.images[image] = (size, holders | {name})

    def on(self, node: str, *holds: Hold) -> list[Pod]:
        return [pod for pod, place, hold in self.pods.values() if place == node and hold in (holds or Hold)]


def tell(statement: Statement, model: Model, operation: Operation) -> None:
    what, uid, node, variant = operation
    match what:
        case "put":
            statement.put_node(model.node(node, variant))
        case "drop":
            statement.drop_node(node)
        case "take" | "bound":
            statement.take(model.pod(what, uid, node, variant), node, bound=what == "bound")
        case "pipeline":
            statement.pipeline(model.pod(what, uid, node, variant), node)
        case "give_back":
            statement.give_back(uid)
        case "evict":
            statement.evict(uid)
        case "confirm":
            statement.confirm(model.pod(what, uid, node, variant))


def assert_alike(seen: dict[str, Any], model: Model) -> None:
    """The cluster's picture holds what the model holds, and nothing else."""
    assert seen["order"] == list(model.nodes)
    assert {name: row["object"] for name, row in seen["nodes"].items()} == model.nodes
    assert {uid: (pod, node, hold) for uid, (pod, node, _, hold, _) in seen["pods"].items()} == model.pods
    for name, row in seen["nodes"].items():
        assert row["pods"] == [pod.uid for pod in model.on(name)]
        assert row["labels"] == model.nodes[name].labels
        assert row["taints"] == model.nodes[name].spec.taints
        assert_numbers(row["numbers"], model, name)
    lost = {place for _, place, _ in model.pods.values()} - set(model.nodes)
    assert seen["homeless"] == {name: [pod.uid for pod in model.on(name)] for name in lost}
    rows = {name: row["row"] for name, row in seen["nodes"].items()}
    assert seen["images"] == {
        image: (size, sorted(rows[name] for name in holders))
        for image, (size, holders) in model.images.items()
    }
    assert seen["image nodes"] == len(model.nodes)
    assert not any(seen["free"].values())


def assert_numbers(numbers: dict[str, int], model: Model, name: str) -> None:
    holding = model.on(name, Hold.ASSUMED, Hold.BOUND, Hold.RELEASING)
    resources = ["cpu", "memory"]
    if any("ex.io/f" in node.status.allocatable for node in model.nodes.values()):
        resources.append("ex.io/f")  # others are not counted
    expected = {
        f"{resource} requested": sum(pod.request.amount(resource) for pod in holding)
        for resource in resources
    }
    expected["pods"] = len(holding)
    expected["nonzero_cpu_milli"] = sum(pod.request.nonzero_cpu_milli for pod in holding)
    expected["nonzero_memory"] = sum(pod.request.nonzero_memory for pod in holding)
    expected = {what: min(total, MOST_TAKEN) for what, total in expected.items()}
    fixed = {
        key: number for key, number in numbers.items() if key.endswith("allocatable") or key == "max_pods"
    }
    assert numbers == fixed | {key: number for key, number in expected.items() if number}


def ports_of(model: Model) -> dict[str, int]:
    """How many pods use the one host port, by node."""
    counts = {
        name: sum(
            bool(pod.spec.host_ports) for pod in model.on(name, Hold.ASSUMED, Hold.BOUND, Hold.RELEASING)
        )
        for name in model.nodes
    }
    return {name: count for name, count in counts.items() if count}


def zones_of(model: Model) -> dict[tuple[str, str], int]:
    """What the book of that name has to say."""
    return Counter(
        (pod.labels.get("seen", ""), model.nodes[place].labels.get("zone", ""))
        for pod, place, hold in model.pods.values()
        if place in model.nodes and hold is not Hold.PROMISED
    )


def was_seen(namespace: str, labels: Mapping[str, str]) -> bool:
    return "seen" in labels


def request_of(pod: Pod) -> tuple[object, ...]:
    return (pod.request,)


class Trial:
    """A cluster and its model, side by side."""

    def __init__(self, model: Model, picture: Make) -> None:
        self.cluster, self.model, self._picture = Cluster(), model, picture
        self.counts = [
            self.cluster.counts.selector("seen", was_seen, staying=staying) for staying in (False, True)
        ]
        self.cluster.counts.carrier("requests", request_of)
        self.books = [self.cluster.books.of(kind) for kind in (Zones, Numbers, Everything)]
        self.statement = self.cluster.statement()
        self.marks = [(0, model.copy(), self.picture())]
        self.past = [(0, self.picture())]

    def picture(self, cluster: Cluster | None = None) -> dict[str, Any]:
        """As of now, by value. How many free rows there are is of no interest."""
        seen = deepcopy(self._picture(cluster or self.cluster))
        assert not any(seen["free"].values())
        return {**seen, "free": {}}

    def run(self, operation: Operation) -> None:
        what, uid, node, variant = operation
        if what == "checkpoint":
            self.marks.append((self.statement.checkpoint(), self.model.copy(), self.picture()))
        elif what == "roll_back":
            self._roll_back(variant)
        elif what == "commit":
            self._commit()
        elif self.model.allows(what, uid, node):
            tell(self.statement, self.model, operation)
            self.model.change(what, uid, node, variant)
        else:
            before = self.picture()
            with pytest.raises(ClusterError):
                tell(self.statement, self.model, operation)
            assert self.picture() == before

    def _roll_back(self, steps: int) -> None:
        del self.marks[max(1, len(self.marks) - steps) :]
        mark, model, picture = self.marks[-1]
        self.statement.roll_back(mark)
        self.model = model.copy()
        assert self.picture() == picture

    def _commit(self) -> None:
        self.statement.commit()
        self.marks = [(0, self.model.copy(), self.picture())]
        self.past.append((self.cluster.history.position, self.picture()))

    def check(self) -> None:
        self.cluster.check()
        seen = self.picture()
        assert_alike(seen, self.model)
        rows = {name: row["row"] for name, row in seen["nodes"].items()}
        used = {rows[name]: {"0.0.0.0": count} for name, count in ports_of(self.model).items()}
        assert seen["ports"] == ({("TCP", 80): used} if used else {})
        afresh = PodCounts(self.cluster.labelsets, self.cluster.pods.by_uid.values)
        counts = [afresh.selector("seen", was_seen, staying=staying) for staying in (False, True)]
        terms = afresh.carrier("requests", request_of)
        assert seen["books"]["Zones"] == zones_of(self.model)
        assert seen["books"]["Numbers"].keys() == {
            uid for uid, (_, _, hold) in self.model.pods.items() if hold is not Hold.PROMISED
        }
        expected: dict[Any, Any] = {number: each.by_row for number, each in enumerate(counts)}
        assert seen["counts"] == expected | {("requests", t): c.by_row for t, c in terms.items()}

    def look_back(self) -> None:
        now = self.picture()
        for position, then in self.past:
            fork = self.cluster.as_of(position)
            fork.check()
            assert self.picture(fork) == then
            assert self.picture() == now


@settings(max_examples=100, deadline=None, database=None)
@given(script=operations)
def test_random_statements(node: Make, pod: Make, picture: Make, script: list[Operation]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for module in (cluster_module, nodes_module):
            patch.setattr(module, "MOST_TAKEN", MOST_TAKEN)
        trial = Trial(Model(node, pod), picture)
        for operation in script:
            trial.run(operation)
            trial.check()
        trial.run(("commit", "", "", 0))
        trial.look_back()
