"""NodePorts."""

from __future__ import annotations

import pytest

from mooring.framework.api.status import Code, Status
from mooring.model.objects import Pod
from mooring.plugins.node_ports import TAKEN, NodePorts
from plugins.stage import Stage, container, node, pod, ports


def using(*texts: str) -> Pod:
    return pod(containers=(container(ports=ports(*texts)),))


LOCAL = "UDP/127.0.0.1:8080"


@pytest.mark.parametrize(
    ("wanted", "used", "passes"),
    [
        pytest.param(using(LOCAL), using("UDP/127.0.0.1:9090"), True, id="H1"),
        pytest.param(using(LOCAL), using(LOCAL), False, id="H2"),
        pytest.param(using(LOCAL), using("UDP/127.0.0.2:8080"), True, id="H3-address"),
        pytest.param(using(LOCAL), using("TCP/127.0.0.1:8080"), True, id="H3-protocol"),
        pytest.param(using(LOCAL), using("UDP/0.0.0.0:8080"), False, id="H4-used"),
        pytest.param(using("UDP/0.0.0.0:8080"), using(LOCAL), False, id="H4-wanted"),
        pytest.param(using("TCP/:1", LOCAL), using("UDP/:8080"), False, id="H4-second-port"),
        pytest.param(using("/:80"), using("TCP/127.0.0.1:80"), False, id="defaults"),
    ],
)
def test_ports(wanted: Pod, used: Pod, passes: bool) -> None:
    stage = Stage([node("n"), node("idle")]).take(used, "n")
    plugin = stage.make(NodePorts)
    assert plugin.sign(wanted) is not None
    rejection = Status(Code.UNSCHEDULABLE, (TAKEN,), "NodePorts")
    assert stage.filtered(plugin, wanted) == {"n": None if passes else rejection, "idle": None}


def test_h5_only_sidecars_among_init_containers_count() -> None:
    plugin = Stage().make(NodePorts)
    plain = pod(init_containers=(container(ports=ports(LOCAL)),))
    sidecar = pod(init_containers=(container(ports=ports(LOCAL), restart_policy="Always"),))
    assert plugin.sign(plain) is None
    assert plugin.sign(sidecar) == plugin.sign(using(LOCAL))


def test_a_port_is_free_again_when_its_pod_went() -> None:
    stage = Stage([node("n")]).take(using(LOCAL), "n")
    plugin = stage.make(NodePorts)
    with stage.cluster.statement() as statement:
        statement.give_back("p-0")
    assert stage.filtered(plugin, using(LOCAL))["n"] is None
