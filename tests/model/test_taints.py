"""Which taints a pod tolerates."""

from __future__ import annotations

import pytest

from mooring.model.objects import Taint, Toleration
from mooring.model.taints import first_untolerated, tolerates


def taint(text: str) -> Taint:
    """`key=value:effect`"""
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return Taint(key=key, value=value, effect=effect)


def equal(key: str, value: str, effect: str = "") -> Toleration:
    return Toleration(key=key, operator="Equal", value=value, effect=effect)


USER1 = taint("dedicated=user1:NoSchedule")
PASSES = None


@pytest.mark.parametrize(
    ("taints", "tolerations", "first"),
    [
        pytest.param([USER1], [], USER1, id="T6"),
        pytest.param([USER1], [equal("dedicated", "user1", "NoSchedule")], PASSES, id="T7"),
        pytest.param([USER1], [equal("dedicated", "user2", "NoSchedule")], USER1, id="T8"),
        pytest.param(
            [taint("foo=bar:NoSchedule")],
            [Toleration(key="foo", operator="Exists", effect="NoSchedule")],
            PASSES,
            id="T9",
        ),
        pytest.param(
            [USER1, taint("foo=bar:NoSchedule")],
            [equal("dedicated", "user1"), equal("foo", "bar")],
            PASSES,
            id="T10-both",
        ),
        pytest.param(
            [USER1, taint("foo=bar:NoExecute")],
            [equal("dedicated", "user1")],
            taint("foo=bar:NoExecute"),
            id="T10-one",
        ),
        pytest.param([USER1], [equal("dedicated", "user1", "PreferNoSchedule")], USER1, id="T11"),
        pytest.param([USER1], [equal("dedicated", "user1")], PASSES, id="T12"),
        pytest.param([taint("dedicated=user1:PreferNoSchedule")], [], PASSES, id="T13"),
        pytest.param([], [], PASSES, id="no-taints"),
        pytest.param([USER1], [Toleration(operator="Exists")], PASSES, id="tolerate-everything"),
    ],
)
def test_first_untolerated(taints: list[Taint], tolerations: list[Toleration], first: Taint | None) -> None:
    assert first_untolerated(taints, tolerations) == first


@pytest.mark.parametrize(
    ("operator", "bound", "value", "gate", "tolerated"),
    [
        pytest.param("Gt", "950", "800", True, False, id="T14-below"),
        pytest.param("Gt", "750", "950", True, True, id="T14-above"),
        pytest.param("Gt", "750", "750", True, False, id="T14-equal"),
        pytest.param("Lt", "950", "800", True, True, id="T14-lt"),
        pytest.param("Lt", "800", "800", True, False, id="T14-lt-equal"),
        pytest.param("Gt", "many", "950", True, False, id="T15-toleration"),
        pytest.param("Gt", "750", "high", True, False, id="T15-taint"),
        pytest.param("Gt", "", "1", True, False, id="T15-empty"),
        pytest.param("Lt", str(2**63), "1", True, False, id="T15-beyond-64-bits"),
        pytest.param("Gt", "7_50", "950", True, False, id="T15-underscore"),
        pytest.param("Gt", "750", "950", False, False, id="T15-gate-off"),
    ],
)
def test_comparisons(operator: str, bound: str, value: str, gate: bool, tolerated: bool) -> None:
    toleration = Toleration(key="sla", operator=operator, value=bound)
    found = Taint(key="sla", value=value, effect="NoSchedule")
    assert tolerates(toleration, found, comparison_operators=gate) is tolerated
    left = first_untolerated([found], [toleration], comparison_operators=gate)
    assert left == (None if tolerated else found)


@pytest.mark.parametrize(
    ("toleration", "tolerated"),
    [
        (Toleration(), False),
        (Toleration(key="dedicated"), False),
        (Toleration(key="dedicated", value="user1"), True),
        (Toleration(value="user1"), True),
        (Toleration(key="other", operator="Exists"), False),
        (Toleration(key="dedicated", operator="Exists", value="ignored"), True),
        (Toleration(key="dedicated", operator="exists"), False),
        (Toleration(effect="NoExecute", operator="Exists"), False),
    ],
    ids=[
        "empty",
        "no-value",
        "default-operator",
        "any-key",
        "other-key",
        "exists",
        "no-such-operator",
        "effect",
    ],
)
def test_tolerates(toleration: Toleration, tolerated: bool) -> None:
    assert tolerates(toleration, USER1) is tolerated
