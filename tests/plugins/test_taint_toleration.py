"""TaintToleration."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config.feature_gates import FeatureGates
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.status import Code, Status
from mooring.model.objects import Node, Pod, Toleration
from mooring.plugins.taint_toleration import UNTOLERATED, TaintToleration
from plugins.stage import Stage, node, pod, taint

GATE = FeatureGates({"TaintTolerationComparisonOperators": True})


def tainted(*taints: str, name: str = "n") -> Node:
    return node(name, taints=tuple(map(taint, taints)))


def nodes(*taints: tuple[str, ...]) -> list[Node]:
    return [tainted(*each, name=f"n{number}") for number, each in enumerate(taints)]


def tolerating(*tolerations: Toleration) -> Pod:
    return pod(tolerations=tolerations)


def equal(pair: str, effect: str = "") -> Toleration:
    key, _, value = pair.partition("=")
    return Toleration(key=key, operator="Equal", value=value, effect=effect)


PREFER = "PreferNoSchedule"
TWO = tolerating(equal("cpu=4", PREFER), equal("disk=ssd", PREFER))


@pytest.mark.parametrize(
    ("incoming", "taints", "expected"),
    [
        pytest.param(
            tolerating(equal("foo=bar", PREFER)),
            [(f"foo=bar:{PREFER}",), (f"foo=blah:{PREFER}",)],
            [100, 0],
            id="T1",
        ),
        pytest.param(
            tolerating(equal("foo=bar", PREFER)),
            [(), (f"a=b:{PREFER}",), (f"a=b:{PREFER}", f"c=d:{PREFER}")],
            [100, 50, 0],
            id="T2",
        ),
        pytest.param(
            TWO,
            [(), (f"cpu=4:{PREFER}",), (f"cpu=4:{PREFER}", f"disk=ssd:{PREFER}")],
            [100, 100, 100],
            id="T3",
        ),
        pytest.param(
            tolerating(equal("x=y", "NoSchedule")),
            [(), ("cpu=4:NoSchedule",), (f"cpu=4:{PREFER}", f"disk=ssd:{PREFER}")],
            [100, 100, 0],
            id="T4",
        ),
        pytest.param(pod(), [(), (f"cpu=4:{PREFER}",)], [100, 0], id="T5"),
        pytest.param(
            tolerating(equal("foo=bar", "NoSchedule"), equal("foo=bar")),
            [(f"foo=bar:{PREFER}",), (f"foo=x:{PREFER}",)],
            [100, 0],
            id="empty-effect-counts",
        ),
    ],
)
def test_score(incoming: Pod, taints: list[tuple[str, ...]], expected: list[int]) -> None:
    stage = Stage(nodes(*taints))
    assert list(stage.normalized(stage.make(TaintToleration), incoming).values()) == expected


USER1 = "dedicated=user1:NoSchedule"
ON, OFF = GATE, FeatureGates()


def compare(operator: str, value: str) -> Pod:
    return tolerating(Toleration(key="sla", operator=operator, value=value, effect="NoSchedule"))


@pytest.mark.parametrize(
    ("incoming", "taints", "gates", "passes"),
    [
        pytest.param(pod(), (USER1,), OFF, False, id="T6"),
        pytest.param(tolerating(equal("dedicated=user1", "NoSchedule")), (USER1,), OFF, True, id="T7"),
        pytest.param(tolerating(equal("dedicated=user2", "NoSchedule")), (USER1,), OFF, False, id="T8"),
        pytest.param(
            tolerating(Toleration(key="foo", operator="Exists", effect="NoSchedule")),
            ("foo=bar:NoSchedule",),
            OFF,
            True,
            id="T9",
        ),
        pytest.param(
            tolerating(equal("dedicated=user1"), equal("foo=bar")),
            (USER1, "foo=bar:NoExecute"),
            OFF,
            True,
            id="T10",
        ),
        pytest.param(
            tolerating(equal("dedicated=user1")), (USER1, "foo=bar:NoExecute"), OFF, False, id="T10-one-not"
        ),
        pytest.param(tolerating(equal("dedicated=user1", PREFER)), (USER1,), OFF, False, id="T11"),
        pytest.param(tolerating(equal("dedicated=user1")), (USER1,), OFF, True, id="T12"),
        pytest.param(pod(), (f"dedicated=user1:{PREFER}",), OFF, True, id="T13"),
        pytest.param(compare("Gt", "950"), ("sla=800:NoSchedule",), ON, False, id="T14-below"),
        pytest.param(compare("Gt", "750"), ("sla=950:NoSchedule",), ON, True, id="T14-above"),
        pytest.param(compare("Gt", "x"), ("sla=950:NoSchedule",), ON, False, id="T15-toleration"),
        pytest.param(compare("Gt", "750"), ("sla=high:NoSchedule",), ON, False, id="T15-taint"),
        pytest.param(compare("Gt", "750"), ("sla=950:NoSchedule",), OFF, False, id="T15-gate-off"),
    ],
)
def test_filter(incoming: Pod, taints: tuple[str, ...], gates: FeatureGates, passes: bool) -> None:
    stage = Stage([tainted(*taints)], gates)
    status = stage.filtered(stage.make(TaintToleration), incoming)["n"]
    rejection = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, (UNTOLERATED,), "TaintToleration")
    assert status == (None if passes else rejection)


def test_never_skips() -> None:
    plugin: Any = Stage().make(TaintToleration)
    assert plugin.pre_score(Cycle("test", 0.0), pod(), ()) is None
    assert plugin.sign(pod()) is not None


def test_signature_knows_no_order_and_no_seconds() -> None:
    plugin = Stage().make(TaintToleration)
    one, other = equal("a=b"), equal("c=d")
    late = Toleration(key="a", value="b", toleration_seconds=300)
    assert plugin.sign(tolerating(one, other)) == plugin.sign(tolerating(other, late))
    assert plugin.sign(tolerating(one)) != plugin.sign(tolerating(other))
