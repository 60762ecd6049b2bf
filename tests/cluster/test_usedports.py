"""Host ports in use."""

from __future__ import annotations

import pytest

from mooring.cluster.usedports import UsedPorts

ANY = "0.0.0.0"


@pytest.fixture
def ports() -> UsedPorts:
    """Row 0 uses TCP 80 everywhere, row 1 on one address."""
    ports = UsedPorts()
    ports.add(0, [(ANY, "TCP", 80)], 1)
    ports.add(1, [("10.0.0.1", "TCP", 80)], 1)
    return ports


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        pytest.param((ANY, "TCP", 80), {0, 1}, id="every address clashes with each"),
        pytest.param(("10.0.0.1", "TCP", 80), {0, 1}, id="one address clashes with every and itself"),
        pytest.param(("10.0.0.2", "TCP", 80), {0}, id="another address clashes with every only"),
        pytest.param((ANY, "UDP", 80), set(), id="another protocol is free"),
        pytest.param((ANY, "TCP", 81), set(), id="another port is free"),
    ],
)
def test_clashes(ports: UsedPorts, wanted: tuple[str, str, int], rows: set[int]) -> None:
    assert ports.clashing_rows([wanted]) == rows
    assert {row for row in range(3) if ports.clash(row, [wanted])} == rows


def test_any_of_several_ports_is_enough(ports: UsedPorts) -> None:
    wanted = [(ANY, "TCP", 443), ("10.0.0.2", "TCP", 80)]
    assert ports.clashing_rows(iter(wanted)) == {0}


def test_no_ports_clash_with_nothing(ports: UsedPorts) -> None:
    assert ports.clashing_rows([]) == set()
    assert not ports.clash(0, [])


def test_a_port_is_free_when_its_last_user_goes(ports: UsedPorts) -> None:
    ports.add(0, [(ANY, "TCP", 80)], 1)
    ports.add(0, [(ANY, "TCP", 80)], -1)
    assert ports.clash(0, [(ANY, "TCP", 80)])
    ports.add(0, [(ANY, "TCP", 80)], -1)
    assert not ports.clash(0, [(ANY, "TCP", 80)])
    assert ports.clashing_rows([(ANY, "TCP", 80)]) == {1}


def test_one_address_stays_used_when_another_goes() -> None:
    ports = UsedPorts()
    both = [("10.0.0.1", "TCP", 80), ("10.0.0.2", "TCP", 80)]
    ports.add(0, both, 1)
    ports.add(0, both[:1], -1)
    assert not ports.clash(0, both[:1])
    assert ports.clash(0, both[1:])


def test_a_pod_that_lists_a_port_twice_gives_it_back_wholly() -> None:
    ports = UsedPorts()
    twice = [(ANY, "TCP", 80), (ANY, "TCP", 80)]
    ports.add(0, twice, 1)
    ports.add(0, twice, -1)
    assert ports.clashing_rows(twice) == set()
