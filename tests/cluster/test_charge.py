"""What a pod takes of the columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from mooring.cluster.charge import CPU, EPHEMERAL_STORAGE, MEMORY, Charges
from mooring.cluster.interning import Interner
from mooring.model.objects import Container, ContainerStatus, PodStatus, ResourceRequirements

Make = Callable[..., Any]
MIB = 2**20


@pytest.fixture
def charges() -> Charges:
    return Charges(Interner("cpu", "memory", "ephemeral-storage").id)


def test_requests_become_column_numbers(charges: Charges, pod: Make) -> None:
    requests = {"cpu": "250m", "memory": "1Mi", "ephemeral-storage": "5", "nvidia.com/gpu": "2"}
    charge = charges.of(pod("p", requests), bound=False)
    assert dict(charge.columns) == {CPU: 250, MEMORY: MIB, EPHEMERAL_STORAGE: 5, 3: 2}


def test_what_is_not_asked_for_is_not_charged(charges: Charges, pod: Make) -> None:
    charge = charges.of(pod("p", {"memory": "1Mi", "cpu": "0"}), bound=False)
    assert dict(charge.columns) == {MEMORY: MIB}


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
    assert dict(charges.of(shrinking, bound=True).columns) == {CPU: 3000}
    assert dict(charges.of(shrinking, bound=False).columns) == {CPU: 1000}


def test_a_shrinking_sidecar_counts_too(charges: Charges, pod: Make) -> None:
    asks = ResourceRequirements(requests={"cpu": "1"})
    sidecar = Container(name="main", restart_policy="Always", resources=asks)
    plain = pod("p", status=PodStatus(init_container_statuses=(in_use("3"),)))
    spec = msgspec.structs.replace(plain.spec, containers=(), init_containers=(sidecar,))
    charge = charges.of(msgspec.structs.replace(plain, spec=spec), bound=True)
    assert dict(charge.columns) == {CPU: 3000}
