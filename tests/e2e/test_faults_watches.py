"""Watches that end at any moment, servers that have forgotten: nothing is missed or counted twice."""

from __future__ import annotations

import random
import secrets
import threading
from collections.abc import Iterator

import pytest

from e2e.arrivals import Arrivals
from e2e.audit import Audit
from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.faulty_proxy import LIST, WATCH, FaultyProxy, Seen, Wanted, answer, error_event
from e2e.scheduler import StartScheduler
from e2e.state import Pod
from e2e.waiting import wait_for
from e2e.workloads import pod

NODES, PER_NODE = 20, 8
PODS = NODES * PER_NODE
TOO_OLD = "too old resource version: 1 (2)"


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[FaultyProxy]:
    with FaultyProxy(control_plane) as proxy:
        yield proxy


def test_watches_are_cut(cluster: Cluster, proxy: FaultyProxy, start_mooring: StartScheduler) -> None:
    """Of all kinds at random moments, while pods come and go."""
    seed = secrets.token_hex(4)
    draw = random.Random(seed)
    print(f"seed {seed}")  # noqa: T201 - shown when it fails
    cluster.add_nodes(NODES, cpu=PER_NODE)
    start_mooring(kubeconfig=proxy.kubeconfig)
    lists = len(proxy.requests(LIST))
    short = [pod(f"short-{number}", cpu="1") for number in range(PODS // 2)]
    lasting = [pod(f"lasting-{number}", cpu="1") for number in range(PODS)]
    with Audit(cluster) as audit, Cutting(proxy, draw) as cutting:
        with Arrivals(cluster, short, seed=seed, pause=0.02) as arrivals:
            audit.check(arrivals.all())
            for each in arrivals.pods:
                cluster.api.delete(f"{cluster.pods_path}/{each.name}", grace_seconds=0)
        with Arrivals(cluster, lasting, seed=seed, pause=0.02) as arrivals:  # they fill the cluster
            audit.check(arrivals.all())
        wait_for(lambda: cutting.times > 5, saying="watches to be cut")
    assert len(proxy.requests(LIST)) == lists, "a watch that is cut is taken up where it was, without a list"


class Cutting:
    """Cuts what is watched, all or one of it, again and again."""

    def __init__(self, proxy: FaultyProxy, draw: random.Random) -> None:
        self.times = 0
        self._proxy = proxy
        self._draw = draw
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._cut, name="cutting", daemon=True)

    def __enter__(self) -> Cutting:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _cut(self) -> None:
        while not self._over.wait(self._draw.uniform(0.05, 0.5)):
            kind = self._draw.choice(("pods", "nodes", ""))
            self.times += bool(self._proxy.cut(watch_of(kind) if kind else WATCH))


def watch_of(resource: str) -> Wanted:
    def wanted(seen: Seen) -> bool:
        return seen.kind == WATCH and seen.resource == resource

    return wanted


@pytest.mark.parametrize("how", ["status", "event"])
def test_the_server_has_forgotten_where_we_were(
    how: str, cluster: Cluster, proxy: FaultyProxy, start_mooring: StartScheduler
) -> None:
    """410, as an answer and as an event: everything is listed again, and what happened meanwhile is known."""
    cluster.add_nodes(NODES, cpu=PER_NODE)
    start_mooring(kubeconfig=proxy.kubeconfig)
    gone = answer if how == "status" else error_event
    with Audit(cluster) as audit:
        first = make(cluster, "first", PODS // 2)
        audit.check(first)
        told = [
            proxy.rule(watch_of(kind), gone(410, TOO_OLD, reason="Expired"), times=2)
            for kind in ("pods", "nodes")
        ]
        lists = len(proxy.requests(LIST, "pods"))
        proxy.cut(WATCH)
        removed, kept = first[: PODS // 4], first[PODS // 4 :]
        for each in removed:  # nobody tells Mooring but the next list
            cluster.api.delete(f"{cluster.pods_path}/{each.name}", grace_seconds=0)
        wait_for(lambda: all(len(rule.used) == 2 for rule in told), saying="watches to be refused")
        second = make(cluster, "second", PODS - len(kept))
        audit.check([*kept, *second])
    assert len(proxy.requests(LIST, "pods")) > lists


def make(cluster: Cluster, name: str, count: int) -> list[Pod]:
    return cluster.create_pods(*(pod(f"{name}-{number}", cpu="1") for number in range(count)))
