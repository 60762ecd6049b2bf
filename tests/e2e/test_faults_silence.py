"""While nothing is heard of pods: what came of a bind counts all the same, found out by asking.

The watch of pods says nothing, so that a place that is given back too early is taken again at once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from e2e.api import Object
from e2e.audit import Audit
from e2e.binding import bind
from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.faulty_proxy import BIND, WATCH, Act, FaultyProxy, Seen, hold, instead, lose_answer
from e2e.scheduler import StartScheduler
from e2e.waiting import holds, wait_for
from e2e.workloads import pod

LONG_ENOUGH_S = 4.0  # to decide again: a pod whose bind failed is tried again after a second


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[FaultyProxy]:
    with FaultyProxy(control_plane) as proxy:
        yield proxy


class Silence:
    """No word about pods, until it is over. What happened meanwhile is told then."""

    def __init__(self, proxy: FaultyProxy) -> None:
        self._over = threading.Event()
        proxy.rule(of_pods, hold(self._over))
        assert proxy.cut(of_pods)

    def end(self) -> None:
        self._over.set()


def of_pods(seen: Seen) -> bool:
    return seen.kind == WATCH and seen.resource == "pods"


@pytest.mark.parametrize(
    "how",
    [lose_answer, instead(500, "etcdserver: request timed out"), instead(409, "it was modified")],
    ids=["no answer", "an error", "a conflict"],
)
def test_a_bind_is_carried_out_and_nobody_says_so(
    how: Act, cluster: Cluster, proxy: FaultyProxy, start_mooring: StartScheduler
) -> None:
    """Four pods have the four places and four wait: they must not be put where the first ones are."""
    cluster.add_nodes(2, cpu=2)
    let_go = threading.Event()
    rule = proxy.rule(BIND, hold(let_go, how), times=4)
    start_mooring(kubeconfig=proxy.kubeconfig)
    with Audit(cluster) as audit:
        pods = cluster.create_pods(*(pod(f"pod-{number}", cpu="1") for number in range(8)))
        wait_for(lambda: len(rule.used) == 4, saying="four binds under way")
        silence = Silence(proxy)
        let_go.set()
        assert audit.wait_bound(4, 30)
        holds(lambda: audit.bound == 4, during=LONG_ENOUGH_S, saying="four pods bound")
        silence.end()
        first = [each for each in cluster.pods() if each.node]
        for each in first:
            cluster.api.delete(f"{cluster.pods_path}/{each.name}", grace_seconds=0)
        gone = {each.uid for each in first}
        audit.check([each for each in pods if each.uid not in gone])


def test_somebody_else_binds_first(
    cluster: Cluster, proxy: FaultyProxy, start_mooring: StartScheduler
) -> None:
    """Mooring's bind is refused since the pod is on another node by now: its place there counts."""
    cluster.add_nodes(2, cpu=2)
    let_go = threading.Event()
    rule = proxy.rule(BIND, hold(let_go), times=1)
    start_mooring(kubeconfig=proxy.kubeconfig)
    with Audit(cluster) as audit:
        (taken,) = cluster.create_pods(pod("taken", cpu="2"))
        wait_for(lambda: rule.used, saying="Mooring to bind")
        (choosy,) = cluster.create_pods(pod("choosy", cpu="2", nodeSelector={"disk": "ssd"}))
        cluster.wait_unschedulable("choosy")
        silence = Silence(proxy)
        (other,) = {"node-0", "node-1"} - {rule.used[0].node}
        assert bind(cluster, taken, other)
        let_go.set()
        wait_for(lambda: rule.used[0].status == 409)
        labels: Object = {"metadata": {"labels": {"disk": "ssd"}}}
        cluster.api.patch(f"/api/v1/nodes/{other}", labels)
        holds(lambda: audit.bound == 1, during=LONG_ENOUGH_S, saying="one pod bound")
        silence.end()
        cluster.api.delete(f"{cluster.pods_path}/{taken.name}", grace_seconds=0)
        audit.check([choosy])
    assert cluster.pod("choosy").node == other
