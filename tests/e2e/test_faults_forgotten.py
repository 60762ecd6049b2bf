"""Somebody between forgets the connections there are, without a word. New ones work."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.faulty_proxy import known_identity, token_in
from e2e.relay import Relay
from e2e.scheduler import StartScheduler
from e2e.waiting import wait_for
from e2e.workloads import pod

FOUND_S = 20.0  # 15 until a connection is found dead, and a while to be bound


@pytest.fixture
def relay(control_plane: ControlPlane) -> Iterator[Relay]:
    with Relay(control_plane, user=token_in(known_identity(control_plane))) as relay:
        yield relay


def all_bound(cluster: Cluster) -> bool:
    return all(each.node for each in cluster.pods())


@pytest.mark.parametrize("busy", [False, True], ids=["quiet", "busy"])
def test_binding_goes_on(busy: bool, cluster: Cluster, relay: Relay, start_mooring: StartScheduler) -> None:
    """Pods that come are heard of, and bound over other connections, though the watch was never ended."""
    cluster.add_nodes(3, cpu=32)
    start_mooring(kubeconfig=relay.kubeconfig)
    before = 60 if busy else 1
    cluster.create_pods(*(pod(f"before-{number}", cpu="100m") for number in range(before)))
    wait_for(lambda: all_bound(cluster), within=30, saying="pods to be bound")
    for number in range(2):
        assert relay.forget()
        cluster.create_pods(pod(f"after-{number}", cpu="100m"))
        wait_for(lambda: all_bound(cluster), within=FOUND_S, saying="binding to go on")
