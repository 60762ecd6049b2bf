"""A method that will fail when it is called is refused when its policy is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mooring import Cycle, Node, NodeObject, Plugin, Pod, Status
from mooring.errors import PolicyError
from mooring.framework.api.points import POINTS
from mooring.framework.api.typed_points import Points
from mooring.framework.loading.registry import Registry
from mooring.framework.running.signatures import signature_mistakes

WRITTEN = sorted(set(POINTS) - {"normalize"})


def told(point: str, method: Callable[..., Any]) -> list[str]:
    return list(signature_mistakes(type("P", (Plugin,), {point: method}), POINTS[point]))


def method(*names: str) -> Callable[..., Any]:
    used = ", ".join(name.strip("*, ") for name in names)
    made: Callable[..., Any] = eval(f"lambda {', '.join(('self', *names))}: [{used}]")
    return made


@pytest.mark.parametrize("point", WRITTEN)
def test_what_the_reference_says_is_taken(point: str) -> None:
    assert told(point, getattr(Points, point)) == []
    assert told(point, method(*POINTS[point].parameters)) == []
    assert told(point, method("*about")) == []
    assert told(point, method(*(f"_{number}" for number, _ in enumerate(POINTS[point].parameters)))) == []


@pytest.mark.parametrize("point", WRITTEN)
def test_one_more_or_less_is_refused(point: str) -> None:
    names = POINTS[point].parameters
    assert "it is called with" in told(point, method(*names, "more"))[0]
    if names:
        assert "it is called with" in told(point, method(*names[:-1]))[0]
        assert "it is called with" in told(point, method(*names[:-1], f"*, {names[-1]}"))[0]


@pytest.mark.parametrize("point", [name for name in WRITTEN if len(POINTS[name].parameters) > 1])
def test_another_order_is_refused(point: str) -> None:
    assert told(point, method(*reversed(POINTS[point].parameters)))


@pytest.mark.parametrize(
    ("point", "names", "what"),
    [
        ("reserve", "cycle pod node", "node is the name of a node"),
        ("unreserve", "cycle pod node", "node is the name of a node"),
        ("permit", "cycle pod node", "node is the name of a node"),
        ("pre_bind", "state pod node", "node is the name of a node"),
        ("filter", "cycle pod node_name", "node_name is a node"),
        ("score", "cycle pod nodes", "nodes is a node"),
        ("pre_score", "cycle pod node", "node is nodes"),
        ("score_nodes", "cycle pod node", "node is nodes"),
        ("pre_enqueue", "cycle", "cycle is a pod"),
        ("may_evict", "victim pod", "victim is pod"),
    ],
)
def test_a_name_that_promises_something_else_is_refused(point: str, names: str, what: str) -> None:
    (found,) = told(point, method(*names.split()))
    assert f"it is called with ({', '.join(POINTS[point].parameters)})" in found
    assert what.split(" is ")[0] + " is " in found


def test_a_name_that_nobody_looks_at_is_free() -> None:
    assert told("reserve", lambda self, cycle, pod, node: None) == []
    assert told("reserve", lambda self, cycle, pod, node: [node for _ in "a"]) != []


def node_for_name(self: Any, cycle: Cycle, pod: Pod, node: Node) -> Status | None: ...
def object_for_view(self: Any, cycle: Cycle, pod: Pod, node: NodeObject) -> Status | None: ...
def name_called_node(self: Any, cycle: Cycle, pod: Pod, node: str) -> Status | None: ...
def says_yes(self: Any, cycle: Cycle, pod: Pod, node: Node) -> bool: ...
def permits(self: Any, cycle: Cycle, pod: Pod, node_name: str) -> bool: ...
def scores_in_part(self: Any, cycle: Cycle, pod: Pod, node: Node) -> float: ...
def anything(self: Any, cycle: Any, pod: object, node: Any) -> Any: ...
def unknown(self: Any, cycle: Cycle, pod: Pod, node: Nobody) -> None: ...  # type: ignore[name-defined] # noqa: F821
def maybe(self: Any, cycle: Cycle, pod: Pod | None, node: Node | None) -> None: ...


@pytest.mark.parametrize(
    ("point", "written", "what"),
    [
        ("reserve", node_for_name, [" takes node: Node; it is given str"]),
        ("filter", object_for_view, [" takes node: NodeObject; it is given Node"]),
        ("reserve", name_called_node, []),
        ("filter", says_yes, [" returns bool; it must return Status or None"]),
        ("permit", permits, [" returns bool; it must return Status or None"]),
        ("score", scores_in_part, [" returns float; it must return int"]),
        ("filter", anything, []),
        ("filter", unknown, []),
        ("filter", maybe, []),
    ],
)
def test_types_are_held_to_what_is_passed(point: str, written: Callable[..., Any], what: list[str]) -> None:
    assert told(point, written) == what


class ReadsTheName(Plugin):
    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        return None

    def reserve(self, cycle: Any, pod: Any, where: Any) -> None:
        where.labels.get("zone")


class PermitsByTrue(Plugin):
    def permit(self, cycle: Any, pod: Any, node_name: Any) -> Any:
        return True


class FailsToTakeBack(Plugin):
    def reserve(self, cycle: Any, pod: Any, node_name: Any) -> None:
        return None

    def unreserve(self, cycle: Any, pod: Any, node_name: Any) -> None:
        raise KeyError(pod.name)


@pytest.mark.parametrize(
    ("plugin", "what"),
    [
        (ReadsTheName, "'str' object has no attribute 'labels'"),
        (PermitsByTrue, "True"),
        (FailsToTakeBack, "bare"),
    ],
)
def test_places_are_taken_and_given_back_when_it_is_loaded(plugin: type[Plugin], what: str) -> None:
    with pytest.raises(PolicyError) as caught:
        Registry().add(plugin)
    assert what in str(caught.value)
