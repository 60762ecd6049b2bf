"""Which extenders have a say about which pods."""

from __future__ import annotations

import pytest

from engine.stage import pod
from extenders.talk import extender
from mooring.engine.extenders.extenders import asking_order, is_interested
from mooring.model.objects import Container, ResourceRequirements

GPU = "example.com/gpu"
ASKS = Container(name="c", resources=ResourceRequirements(requests={GPU: 1}))
LIMITS = Container(name="c", resources=ResourceRequirements(limits={GPU: 1}))
OTHER = Container(name="c", resources=ResourceRequirements(requests={"example.com/fpga": 1}))


@pytest.mark.parametrize(
    ("containers", "init", "expected"),
    [
        pytest.param((OTHER, ASKS), (), True, id="a container requests it"),
        pytest.param((LIMITS,), (), True, id="a container is limited to it"),
        pytest.param((OTHER,), (ASKS,), True, id="an init container requests it"),
        pytest.param((OTHER,), (LIMITS,), True, id="an init container is limited to it"),
        pytest.param((OTHER,), (OTHER,), False, id="nobody names it"),
        pytest.param((), (), False, id="no containers"),
    ],
)
def test_managed_resources(
    containers: tuple[Container, ...], init: tuple[Container, ...], expected: bool
) -> None:
    wanted = pod("p", containers=containers, init_containers=init)
    assert is_interested(extender(managed=(GPU,)), wanted) is expected


def test_who_manages_nothing_wants_every_pod() -> None:
    assert is_interested(extender(), pod("p"))


def test_ignorable_ones_are_asked_last() -> None:
    order = asking_order([extender(ignorable=True), extender(), extender(ignorable=True), extender()])
    assert order == (1, 3, 0, 2)
