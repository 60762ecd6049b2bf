from __future__ import annotations

from conformance.cluster import AGENTS, NODE_COUNT, ZONES, agent, nodes

ZONE = "topology.kubernetes.io/zone"


def test_nodes_are_in_several_zones() -> None:
    zones = [each["metadata"]["labels"][ZONE] for each in nodes()]
    assert zones == list(ZONES)
    assert len(set(zones)) >= 2


def test_every_node_has_an_address_of_its_own() -> None:
    found = [
        address["address"]
        for each in nodes()
        for address in each["status"]["addresses"]
        if address["type"] == "InternalIP"
    ]
    assert len(set(found)) == NODE_COUNT


def test_an_agent_runs_on_every_node_whatever_its_taints() -> None:
    for name in AGENTS:
        assert agent(name)["spec"]["template"]["spec"]["tolerations"] == [{"operator": "Exists"}]
