"""What a pod takes of the columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.cluster import charge as charge_module
from mooring.cluster.charge import Charges
from mooring.model.objects import Container, ContainerStatus, PodStatus, ResourceRequirements

Make = Callable[..., Any]
MIB = 2**20


@pytest.fixture
def charges() -> Charges:
    return Charges()


def test_requests_are_charged_by_resource(charges: Charges, pod: Make) -> None:
    requests = {"cpu": "250m", "memory": "1Mi", "ephemeral-storage": "5", "nvidia.com/gpu": "2"}
    charge = charges.of(pod("p", requests), bound=False)
    assert dict(charge.amounts) == {"cpu": 250, "memory": MIB, "ephemeral-storage": 5, "nvidia.com/gpu": 2}


def test_what_is_not_asked_for_is_not_charged(charges: Charges, pod: Make) -> None:
    charge = charges.of(pod("p", {"memory": "1Mi", "cpu": "0"}), bound=False)
    assert dict(charge.amounts) == {"memory": MIB}


def test_scoring_supposes_something_of_a_container_that_names_none(charges: Charges, pod: Make) -> None:
    charge = charges.of(pod("p", {"cpu": "250m"}), bound=False)
    assert (charge.nonzero_cpu_milli, charge.nonzero_memory) == (250, 200 * MIB)


def test_host_ports_are_part_of_it(charges: Charges, pod: Make) -> None:
    assert charges.of(pod("p", ports=(80,)), bound=False).ports == (("0.0.0.0", "TCP", 80),)


def test_equal_requests_share_one_charge(charges: Charges, pod: Make) -> None:
    first = charges.of(pod("p", {"cpu": "1"}), bound=False)
    assert charges.of(pod("q", {"cpu": "1000m"}), bound=True) is first
    assert charges.of(pod("q", {"cpu": "2"}), bound=False) is not first
    assert charges.of(pod("q", {"cpu": "1"}, ports=(80,)), bound=False) is not first


def in_use(cpu: str) -> ContainerStatus:
    return ContainerStatus(name="main", resources=ResourceRequirements(requests={"cpu": cpu}))


def test_a_bound_pod_holds_what_it_had_while_it_shrinks(charges: Charges, pod: Make) -> None:
    shrinking = pod("p", {"cpu": "1"}, status=PodStatus(container_statuses=(in_use("3"),)))
    assert dict(charges.of(shrinking, bound=True).amounts) == {"cpu": 3000}
    assert dict(charges.of(shrinking, bound=False).amounts) == {"cpu": 1000}


def test_a_shrinking_sidecar_counts_too(charges: Charges, pod: Make) -> None:
    asks = ResourceRequirements(requests={"cpu": "1"})
    sidecar = Container(name="main", restart_policy="Always", resources=asks)
    plain = pod("p", status=PodStatus(init_container_statuses=(in_use("3"),)))
    spec = msgspec.structs.replace(plain.spec, containers=(), init_containers=(sidecar,))
    charge = charges.of(msgspec.structs.replace(plain, spec=spec), bound=True)
    assert dict(charge.amounts) == {"cpu": 3000}


def a_pod(make: Make, cpu: str, ports: tuple[int, ...], holds: str) -> Any:
    status = PodStatus(container_statuses=(in_use(holds),)) if holds else PodStatus()
    return make("p", {"cpu": cpu}, ports=ports, status=status)


CPU_ASKED, PORTS, CPU_HELD = (
    st.sampled_from("123"),
    st.sampled_from([(), (80,)]),
    st.sampled_from(["", "2", "5"]),
)


@given(
    met=st.lists(st.tuples(CPU_ASKED, PORTS, CPU_HELD, st.booleans(), st.booleans()), max_size=20),
    remembered=st.integers(1, 4),
)
def test_whatever_was_met_before_a_pod_is_charged_as_if_it_were_the_first(
    met: list[tuple[str, tuple[int, ...], str, bool, bool]], remembered: int, pod: Make
) -> None:
    charges, workloads = Charges(), dict[Any, Any]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(charge_module, "REMEMBERED", remembered)
        for cpu, ports, holds, bound, is_of_workload in met:
            asked = a_pod(pod, cpu, ports, holds)
            if is_of_workload:  # such pods share what is derived from their spec
                asked = workloads.setdefault((cpu, ports, holds), asked).on_node("somewhere")
            first = Charges()
            expected = first.of(a_pod(pod, cpu, ports, holds), bound=bound)
            charge = charges.of(asked, bound=bound)
            assert (charge.amounts, charge.ports) == (expected.amounts, expected.ports)
            assert charge is charges.of(a_pod(pod, cpu, ports, holds), bound=bound)
