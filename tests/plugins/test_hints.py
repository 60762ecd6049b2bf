"""Which events give a rejected pod another try."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.framework.api.events import NODE, POD, Action, Hint, Interest
from mooring.framework.api.plugin import Plugin
from mooring.model.objects import (
    Affinity,
    ContainerStatus,
    LabelSelectorRequirement,
    NodeSelector,
    NodeSelectorTerm,
    Pod,
    PodStatus,
    ResourceRequirements,
    Toleration,
)
from mooring.model.objects import (
    NodeAffinity as WireAffinity,
)
from mooring.plugins.node_affinity import NodeAffinity
from mooring.plugins.node_name import NodeName
from mooring.plugins.node_ports import NodePorts
from mooring.plugins.node_resources_fit import NodeResourcesFit
from mooring.plugins.node_unschedulable import NodeUnschedulable
from mooring.plugins.scheduling_gates import SchedulingGates
from mooring.plugins.taint_toleration import TaintToleration
from plugins.stage import Stage, asking, container, node, pod, ports, taint

ADDED = {
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "pool", "operator": "Exists"}]}]
    }
}
GPU = "nvidia.com/gpu"


def interest(plugin: type[Plugin], resource: str, action: Action, **args: Any) -> Interest:
    """The one of a plugin's interests that covers an action on a resource."""
    made: Any = Stage().make(plugin, **args)
    (found,) = [each for each in made.events() if each.resource == resource and each.action & action]
    assert isinstance(found, Interest)
    return found


def queues(plugin: type[Plugin], action: Action, waiting: Pod, old: Any, new: Any, **args: Any) -> bool:
    resource = NODE if action & NODE_ACTIONS and not isinstance(old or new, Pod) else POD
    hint = interest(plugin, resource, action, **args).hint
    return hint is None or hint(waiting, old, new) is Hint.QUEUE


NODE_ACTIONS = (
    Action.ADD | Action.UPDATE_NODE_ALLOCATABLE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
)


def on(placed: Pod, name: str = "n") -> Pod:
    return placed.on_node(name)


def nominated(waiting: Pod) -> Pod:
    return msgspec.structs.replace(waiting, status=PodStatus(nominated_node_name="n"))


def selecting(operator: str = "In", value: str = "a") -> Pod:
    requirement = LabelSelectorRequirement(key="zone", operator=operator, values=(value,))
    term = NodeSelectorTerm(match_expressions=(requirement,))
    required = NodeSelector(node_selector_terms=(term,))
    return pod(
        affinity=Affinity(
            node_affinity=WireAffinity(required_during_scheduling_ignored_during_execution=required)
        )
    )


@pytest.mark.parametrize(
    ("plugin", "events"),
    [
        (SchedulingGates, {(POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)}),
        (NodeName, {(NODE, Action.ADD)}),
        (
            NodeUnschedulable,
            {(NODE, Action.ADD | Action.UPDATE_NODE_TAINT), (POD, Action.UPDATE_POD_TOLERATION)},
        ),
        (
            TaintToleration,
            {(NODE, Action.ADD | Action.UPDATE_NODE_TAINT), (POD, Action.UPDATE_POD_TOLERATION)},
        ),
        (NodeAffinity, {(NODE, Action.ADD | Action.UPDATE_NODE_LABEL)}),
        (NodePorts, {(POD, Action.DELETE), (NODE, Action.ADD)}),
        (
            NodeResourcesFit,
            {
                (POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN),
                (NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE),
            },
        ),
    ],
)
def test_events(plugin: Any, events: set[tuple[str, Action]]) -> None:
    made: Any = Stage().make(plugin)
    assert {(each.resource, each.action) for each in made.events()} == events


@pytest.mark.parametrize(("uid", "expected"), [("p", True), ("other", False)])
def test_gates_of_the_pod_itself(uid: str, expected: bool) -> None:
    action = Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    assert queues(SchedulingGates, action, pod("p"), pod(uid), pod(uid)) is expected


def test_any_new_node_may_be_the_named_one() -> None:
    assert queues(NodeName, Action.ADD, pod(node_name="n"), None, node("n"))


OPEN, CORDONED = node("n"), node("n", unschedulable=True)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, OPEN, True, id="added"),
        pytest.param(None, CORDONED, False, id="added-cordoned"),
        pytest.param(CORDONED, OPEN, True, id="uncordoned"),
        pytest.param(OPEN, OPEN, False, id="was-open"),
        pytest.param(OPEN, CORDONED, False, id="cordoned"),
    ],
)
def test_node_unschedulable(old: Any, new: Any, expected: bool) -> None:
    assert queues(NodeUnschedulable, Action.UPDATE_NODE_TAINT, pod(), old, new) is expected


EVERYTHING = (Toleration(operator="Exists"),)


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        pytest.param(pod("p", tolerations=EVERYTHING), True, id="tolerates"),
        pytest.param(pod("p"), False, id="does-not"),
        pytest.param(pod("other", tolerations=EVERYTHING), False, id="another-pod"),
    ],
)
def test_node_unschedulable_pod(new: Pod, expected: bool) -> None:
    assert queues(NodeUnschedulable, Action.UPDATE_POD_TOLERATION, pod("p"), pod("p"), new) is expected


TAINTED = node("n", taints=(taint("k=v:NoSchedule"),))
SOFT = node("n", taints=(taint("k=v:PreferNoSchedule"),))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, OPEN, True, id="added"),
        pytest.param(None, TAINTED, False, id="added-tainted"),
        pytest.param(TAINTED, SOFT, True, id="softened"),
        pytest.param(SOFT, OPEN, False, id="was-tolerated"),
        pytest.param(OPEN, TAINTED, False, id="tainted"),
    ],
)
def test_taint_toleration(old: Any, new: Any, expected: bool) -> None:
    assert queues(TaintToleration, Action.UPDATE_NODE_TAINT, pod(), old, new) is expected


@pytest.mark.parametrize(("uid", "expected"), [("p", True), ("other", False)])
def test_taint_toleration_pod(uid: str, expected: bool) -> None:
    assert queues(TaintToleration, Action.UPDATE_POD_TOLERATION, pod("p"), pod(uid), pod(uid)) is expected


A, B, POOL_A = node("n", labels={"zone": "a"}), node("n"), node("n", labels={"zone": "a", "pool": "x"})


@pytest.mark.parametrize(
    ("waiting", "old", "new", "added", "expected"),
    [
        pytest.param(selecting(), None, A, None, True, id="added"),
        pytest.param(selecting(), None, B, None, False, id="added-elsewhere"),
        pytest.param(selecting(), B, A, None, True, id="now-matches"),
        pytest.param(selecting(), A, A, None, False, id="matched-before"),
        pytest.param(selecting(), A, B, None, False, id="no-longer"),
        pytest.param(selecting(), None, A, ADDED, False, id="not-enforced"),
        pytest.param(selecting(), None, POOL_A, ADDED, True, id="enforced"),
        pytest.param(selecting("Near"), None, A, None, True, id="unreadable"),
    ],
)
def test_node_affinity(waiting: Pod, old: Any, new: Any, added: Any, expected: bool) -> None:
    found = queues(NodeAffinity, Action.UPDATE_NODE_LABEL, waiting, old, new, addedAffinity=added)
    assert found is expected


def using(text: str) -> Pod:
    return pod(containers=(container(ports=ports(text)),))


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        pytest.param(on(using("TCP/:80")), True, id="same-port"),
        pytest.param(nominated(using("TCP/10.0.0.1:80")), True, id="nominated"),
        pytest.param(using("TCP/:80"), False, id="had-no-place"),
        pytest.param(on(using("UDP/:80")), False, id="other-protocol"),
        pytest.param(on(pod()), False, id="no-ports"),
    ],
)
def test_node_ports(gone: Pod, expected: bool) -> None:
    assert queues(NodePorts, Action.DELETE, using("TCP/:80"), gone, None) is expected
    assert queues(NodePorts, Action.ADD, using("TCP/:80"), None, OPEN)


WAITING = asking("p", {"cpu": "2", GPU: 1})
BIG, SMALL = {"cpu": "4", GPU: 2}, {"cpu": "1", GPU: 2}


def running(**requests: Any) -> Pod:
    return on(asking("other", requests))


def resized(placed: Pod, **requests: Any) -> Pod:
    used = ContainerStatus(resources=ResourceRequirements(requests=requests))
    return msgspec.structs.replace(placed, status=PodStatus(container_statuses=(used,)))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(running(cpu="1"), None, True, id="bound-pod-went"),
        pytest.param(nominated(asking("other", {"cpu": "1"})), None, True, id="nominated-pod-went"),
        pytest.param(asking("other", {"cpu": "1"}), None, False, id="waiting-pod-went"),
        pytest.param(asking("p", {"cpu": "3"}), WAITING, True, id="itself-shrank"),
        pytest.param(running(cpu="2"), running(cpu="1"), True, id="bound-pod-shrank"),
        pytest.param(running(memory="2"), running(memory="1"), False, id="in-something-else"),
        pytest.param(running(cpu="2"), resized(running(cpu="1"), cpu="2"), False, id="not-done-yet"),
        pytest.param(
            asking("other", {"cpu": "2"}), asking("other", {"cpu": "1"}), False, id="waiting-shrank"
        ),
    ],
)
def test_fit_pods(old: Pod, new: Pod | None, expected: bool) -> None:
    made: Any = Stage().make(NodeResourcesFit)
    assert (made.room_freed(WAITING, old, new) is Hint.QUEUE) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, node("n", BIG), True, id="added"),
        pytest.param(None, node("n", SMALL), False, id="added-too-small"),
        pytest.param(None, node("n", BIG | {"pods": 0}), False, id="added-without-pods"),
        pytest.param(node("n", SMALL), node("n", BIG), True, id="grew"),
        pytest.param(
            node("n", BIG | {"memory": 1}), node("n", BIG | {"memory": 9}), False, id="in-something-else"
        ),
        pytest.param(node("n", BIG | {"pods": 1}), node("n", BIG), True, id="more-pods"),
        pytest.param(node("n", {"cpu": "8", GPU: 2}), node("n", BIG), False, id="shrank"),
    ],
)
def test_fit_nodes(old: Any, new: Any, expected: bool) -> None:
    assert queues(NodeResourcesFit, Action.UPDATE_NODE_ALLOCATABLE, WAITING, old, new) is expected
