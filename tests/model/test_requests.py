"""What a pod needs of a node."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.errors import QuantityError
from mooring.model.objects import Pod, PodSpec
from mooring.model.requests import (
    DEFAULT_MEMORY,
    Allocatable,
    Request,
    bound_request,
    node_allocatable,
    pod_request,
)

MI = 2**20
INFEASIBLE = [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]


def c(cpu: Any = None, name: str = "c", **more: Any) -> dict[str, Any]:
    requests = {} if cpu is None else {"cpu": cpu}
    return {"name": name, "resources": {"requests": requests | more}}


def sidecar(cpu: Any = None, name: str = "s", **more: Any) -> dict[str, Any]:
    return c(cpu, name, **more) | {"restartPolicy": "Always"}


def spec(*containers: Any, init: list[Any] | None = None, **more: Any) -> PodSpec:
    wire = {"containers": list(containers), "initContainers": init or [], **more}
    return msgspec.convert(wire, PodSpec)


def pod(wire_spec: dict[str, Any], **status: Any) -> Pod:
    return msgspec.convert({"metadata": {"name": "p"}, "spec": wire_spec, "status": status}, Pod)


@pytest.mark.parametrize(
    ("wanted", "cpu"),
    [
        pytest.param(spec(c(1), init=[c(4)]), 4, id="Q1"),
        pytest.param(spec(c(2), c(3), init=[c(2)]), 5, id="Q2"),
        pytest.param(spec(c(2), c(3), init=[c(2)], overhead={"cpu": 1}), 6, id="Q3"),
        pytest.param(spec(c(1), init=[sidecar(1)]), 2, id="Q4"),
        pytest.param(spec(c(1), init=[c(5), sidecar(1), sidecar(2), sidecar(3)]), 7, id="Q5"),
        pytest.param(spec(c(1), init=[c(5), sidecar(1), sidecar(2), c(5), sidecar(3)]), 8, id="Q6"),
        pytest.param(spec(c(100), init=[sidecar(10), c(200)]), 210, id="Q7"),
    ],
)
def test_containers_of_all_kinds(wanted: PodSpec, cpu: int) -> None:
    assert pod_request(wanted).cpu_milli == cpu * 1000
    assert wanted.request == pod_request(wanted)


def resized(want: int, *, granted: int | None = None, used: int, **status: Any) -> Pod:
    state = {"name": "c", "resources": {"requests": {"cpu": used}}}
    if granted is not None:
        state["allocatedResources"] = {"cpu": granted}
    return pod({"containers": [c(want)]}, containerStatuses=[state], **status)


@pytest.mark.parametrize(
    ("bound", "cpu"),
    [
        pytest.param(resized(4, used=2), 4, id="Q8"),
        pytest.param(resized(4, used=2, conditions=INFEASIBLE), 2, id="Q8-infeasible"),
        pytest.param(resized(6, granted=4, used=2, conditions=INFEASIBLE), 4, id="Q9"),
        pytest.param(resized(2, granted=4, used=3), 4, id="shrinking-granted"),
        pytest.param(resized(2, granted=2, used=3), 3, id="shrinking-used"),
        pytest.param(resized(2, granted=2, used=2, conditions=INFEASIBLE), 2, id="settled"),
    ],
)
def test_resize_of_a_bound_pod(bound: Pod, cpu: int) -> None:
    assert bound_request(bound).cpu_milli == cpu * 1000
    assert bound.request == pod_request(bound.spec)


def test_requestless_container_Q10() -> None:
    found = pod_request(spec(c()))
    assert found == Request(nonzero_cpu_milli=100, nonzero_memory=209715200)


def test_pod_level_replaces_containers_Q11() -> None:
    whole_pod = {"requests": {"cpu": "1200m", "memory": "1200Mi"}}
    wanted = spec(c("500m", memory="500Mi"), c("700m", memory="700Mi"), resources=whole_pod)
    found = pod_request(wanted)
    assert (found.cpu_milli, found.memory) == (1200, 1200 * MI)
    assert (found.nonzero_cpu_milli, found.nonzero_memory) == (1200, 1200 * MI)


def test_pod_level_memory_only_Q12() -> None:
    found = pod_request(spec(c(), resources={"requests": {"memory": "1Gi"}}))
    assert (found.cpu_milli, found.nonzero_cpu_milli) == (0, 100)
    assert found.memory == found.nonzero_memory == 1024 * MI


def test_pod_level_supposes_nothing_of_what_some_container_asks_for() -> None:
    found = pod_request(spec(c(1), c(), resources={"requests": {"memory": "1Gi"}}))
    assert found.nonzero_cpu_milli == 1000


def test_pod_level_leaves_other_resources_to_the_containers() -> None:
    whole_pod = {"requests": {"cpu": 9, "hugepages-2Mi": "4Mi", "nvidia.com/gpu": 7, "ephemeral-storage": 7}}
    gpu: dict[str, Any] = {"nvidia.com/gpu": 1, "ephemeral-storage": 5, "hugepages-2Mi": "2Mi"}
    found = pod_request(spec(c(1, "c", **gpu), resources=whole_pod, overhead={"cpu": "250m"}))
    assert found.cpu_milli == 9250
    assert found.ephemeral_storage == 5
    assert found.scalars == (("hugepages-2Mi", 4 * MI), ("nvidia.com/gpu", 1))


def test_pod_level_may_be_left_unread() -> None:
    wanted = spec(c(1), resources={"requests": {"cpu": 9, "memory": "1Gi"}})
    found = pod_request(wanted, pod_level=False)
    assert (found.nonzero_cpu_milli, found.nonzero_memory) == (1000, DEFAULT_MEMORY)


def test_defaults_count_per_container_and_before_adding_up() -> None:
    found = pod_request(spec(c(1), c(), c(0), init=[c(), sidecar()], overhead={"cpu": "10m"}))
    assert found.cpu_milli == 1010
    assert found.nonzero_cpu_milli == 1000 + 100 + 0 + 100 + 10
    assert found.nonzero_memory == 4 * DEFAULT_MEMORY


def test_no_containers_need_nothing() -> None:
    assert pod_request(spec()) == Request()


def test_rounding_comes_after_adding_up() -> None:
    assert pod_request(spec(c("500u"), c("500u"))).cpu_milli == 1
    assert pod_request(spec(c("500u"), c("600u"))).cpu_milli == 2
    assert pod_request(spec(c(memory="0.4"), c(memory="0.4"))).memory == 1


def test_init_peak_is_per_resource() -> None:
    found = pod_request(spec(c(1, memory=100), init=[c(3, memory=1), c(2, memory=200)]))
    assert (found.cpu_milli, found.memory) == (3000, 200)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("nvidia.com/gpu", True),
        ("hugepages-1Gi", True),
        ("kubernetes.io/batch-cpu", True),
        ("example.kubernetes.io/x", True),
        ("attachable-volumes-csi-x", True),
        ("gpu", False),
        ("pods", False),
        ("requests.example.com/x", False),
        ("example.com/not a name", False),
        ("Example.com/x", False),
        (f"{'a' * 63}.{'b' * 63}.{'c' * 63}.{'d' * 56}/x", False),
        ("example.com/" + "x" * 64, False),
        ("/x", False),
        ("example.com/", False),
    ],
)
def test_which_scalars_are_kept(name: str, kept: bool) -> None:
    assert pod_request(spec(c(None, "c", **{name: 2}))).scalars == (((name, 2),) if kept else ())


def test_scalars_are_sorted_and_never_zero() -> None:
    found = pod_request(spec(c(None, "c", **{"b.io/x": 1, "a.io/x": "1500m", "c.io/x": 0})))
    assert found.scalars == (("a.io/x", 2), ("b.io/x", 1))
    assert [found.amount(n) for n in ("a.io/x", "b.io/x", "c.io/x", "cpu")] == [2, 1, 0, 0]


@pytest.mark.parametrize(
    ("broken", "what"),
    [
        (spec(c("12 apples", name="web")), 'container "web": cpu: "12 apples" is not a quantity'),
        (spec(c(1, memory="-1Gi", name="web")), 'container "web": memory: "-1Gi" is negative'),
        (spec(overhead={"cpu": "x"}), 'overhead: cpu: "x" is not'),
        (spec(resources={"requests": {"cpu": "x"}}), 'pod: cpu: "x" is not'),
    ],
    ids=["nonsense", "negative", "overhead", "pod-level"],
)
def test_mistakes_are_told_with_their_owner(broken: PodSpec, what: str) -> None:
    with pytest.raises(QuantityError, match=what):
        pod_request(broken)


def test_only_sidecars_among_init_containers_resize() -> None:
    states = [{"name": n, "resources": {"requests": {"cpu": 8}}} for n in ("plain", "side")]
    wire = {"containers": [c(1)], "initContainers": [c(2, "plain"), sidecar(2, "side")]}
    bound = pod(wire, initContainerStatuses=states)
    assert bound_request(bound).cpu_milli == 9000


def test_pod_level_resize() -> None:
    wire = {"containers": [c(1)], "resources": {"requests": {"cpu": 2, "memory": 10}}}
    status = {
        "resources": {"requests": {"cpu": 4, "memory": 5}},
        "allocatedResources": {"cpu": 3, "memory": 7},
    }
    found = bound_request(pod(wire, **status))
    assert (found.cpu_milli, found.memory) == (4000, 10)
    refused = bound_request(pod(wire, conditions=INFEASIBLE, **status))
    assert (refused.cpu_milli, refused.memory) == (4000, 7)


def test_status_without_resources_leaves_the_spec() -> None:
    bound = pod({"containers": [c(3)]}, containerStatuses=[{"name": "c"}], conditions=INFEASIBLE)
    assert bound_request(bound) is bound.request


def test_status_counts_for_the_defaults_too() -> None:
    state = {"name": "c", "resources": {"requests": {"memory": 7}}}
    found = bound_request(pod({"containers": [c()]}, containerStatuses=[state]))
    assert (found.memory, found.nonzero_memory, found.nonzero_cpu_milli) == (7, 7, 100)


def test_node_allocatable() -> None:
    resources = {"cpu": "3.5", "memory": "2Gi", "ephemeral-storage": "1k", "pods": "110"}
    found = node_allocatable(resources | {"nvidia.com/gpu": 8, "gpus": 9, "hugepages-2Mi": "0"})
    scalars = (("nvidia.com/gpu", 8),)
    assert found == Allocatable(3500, 2 * 1024 * MI, 1000, 110, scalars)
    assert [found.amount(n) for n in ("pods", "nvidia.com/gpu", "gpus")] == [110, 8, 0]


def test_node_allocatable_tells_mistakes() -> None:
    with pytest.raises(QuantityError, match='allocatable: pods: "-1" is negative'):
        node_allocatable({"cpu": 1, "pods": "-1"})


amounts = st.integers(0, 50)
kinds = st.lists(st.tuples(st.booleans(), amounts), max_size=6)


@given(st.lists(amounts, max_size=4), kinds, amounts)
def test_request_is_the_highest_moment_of_the_pod(
    regular: list[int], init: list[tuple[bool, int]], over: int
) -> None:
    """Start the containers one after another and see how much ever runs at once."""
    running, highest = 0, 0
    for stays, cpu in init:
        highest = max(highest, running + cpu)
        running += cpu if stays else 0
    highest = max(highest, running + sum(regular))
    started = [sidecar(cpu) if stays else c(cpu) for stays, cpu in init]
    wanted = spec(*map(c, regular), init=started, overhead={"cpu": over})
    assert pod_request(wanted).cpu_milli == (highest + over) * 1000
    assert pod_request(wanted).nonzero_cpu_milli == (highest + over) * 1000
