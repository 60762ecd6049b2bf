"""The checks themselves: they find what they are there to find."""

from __future__ import annotations

from fractions import Fraction

import pytest

from e2e.amounts import asked_by, quantity
from e2e.api import Object
from e2e.nodes import node
from e2e.state import Pod, State
from e2e.workloads import pod


def placed(manifest: Object, on: str = "", *, phase: str = "Running", reason: str = "") -> Pod:
    """The pod as the API server would hold it."""
    metadata = manifest["metadata"] | {"namespace": "default", "uid": manifest["metadata"]["name"]}
    conditions = [{"type": "PodScheduled", "status": "False", "reason": reason}] if reason else []
    status = {"phase": phase, "conditions": conditions}
    return Pod(
        manifest | {"metadata": metadata, "spec": manifest["spec"] | {"nodeName": on}, "status": status}
    )


def state(*pods: Pod, cpu: str = "2") -> State:
    return State({"n": node("n", cpu=cpu, pods=3)}, {one.key: one for one in pods})


def test_what_fits_exactly_is_fine() -> None:
    state(placed(pod("a", cpu="1500m"), "n"), placed(pod("b", cpu="0.5"), "n")).check_no_overcommit()


def test_a_milli_too_much_is_found() -> None:
    with pytest.raises(AssertionError, match="n: 2.001 cpu taken of 2"):
        state(placed(pod("a", cpu="1501m"), "n"), placed(pod("b", cpu="0.5"), "n")).check_no_overcommit()


def test_pods_that_are_done_take_nothing() -> None:
    state(
        placed(pod("a", cpu="2"), "n"), placed(pod("b", cpu="2"), "n", phase="Succeeded")
    ).check_no_overcommit()


def test_too_many_pods_are_found() -> None:
    with pytest.raises(AssertionError, match="n: 4 pods taken of 3"):
        state(*(placed(pod(name), "n") for name in "abcd")).check_no_overcommit()


def test_a_resource_the_node_does_not_have_is_found() -> None:
    with pytest.raises(AssertionError, match="example.com/gpu"):
        state(placed(pod("a", extra={"example.com/gpu": "1"}), "n")).check_no_overcommit()


def test_a_host_port_taken_twice_is_found() -> None:
    with pytest.raises(AssertionError, match="2 pods have host port"):
        state(placed(pod("a", ports=(80,)), "n"), placed(pod("b", ports=(80,)), "n")).check_no_overcommit()


def test_a_lost_pod_is_found() -> None:
    with pytest.raises(AssertionError, match="lost: .*default/b"):
        state(placed(pod("a"), "n")).check_none_lost(["default/a", "default/b"])


def test_a_pod_that_nobody_told_anything_is_found() -> None:
    told = placed(pod("told"), phase="Pending", reason="Unschedulable")
    state(told).check_none_lost(["default/told"])
    with pytest.raises(AssertionError, match="neither bound nor told why: .*default/silent"):
        state(told, placed(pod("silent"), phase="Pending")).check_none_lost(iter(["default/silent"]))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1500m", Fraction(3, 2)),
        ("2Gi", 2**31),
        ("1k", 1000),
        ("0.5", Fraction(1, 2)),
        ("1e3", 1000),
        ("3", 3),
    ],
)
def test_quantities(text: str, value: Fraction) -> None:
    assert quantity(text) == value


def test_a_pod_takes_its_greediest_moment() -> None:
    """A sidecar of 1 beside an init container of 3 is more than the sidecar beside the container of 2."""
    made = pod("a", cpu="2")
    container = made["spec"]["containers"][0]
    sidecar = container | {"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
    greedy = container | {"resources": {"requests": {"cpu": "3"}}}
    made["spec"]["initContainers"] = [sidecar, greedy]
    assert asked_by(made)["cpu"] == 4
