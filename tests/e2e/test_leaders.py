"""Two replicas and one lease: one binds at a time, and another takes over when the first no longer can.

Each replica reaches the API server by a proxy of its own, which tells who wrote what and when. Clusters are
exactly as large as their pods together: a replica that takes over and does not know what the first one did
puts too many on a node.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from e2e.arrivals import Arrivals
from e2e.audit import Audit
from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.faulty_proxy import BIND, LEASE, FaultyProxy, Seen, delay, swallow
from e2e.mooring_process import NAME, NAMESPACE
from e2e.scheduler import Scheduler, StartScheduler
from e2e.state import Pod
from e2e.waiting import wait_for
from e2e.workloads import pod

NODES, PER_NODE = 20, 8
PODS = NODES * PER_NODE
LEASE_S, RENEW_S, RETRY_S = 6, 4, 1
TURN_S = 0.3  # the longest wait between two looks at the lease
SLACK_S = 10.0  # a machine that does something else
FLAGS = (
    f"--leader-elect-lease-duration={LEASE_S}s",
    f"--leader-elect-renew-deadline={RENEW_S}s",
    f"--leader-elect-retry-period={RETRY_S}s",
    "--kube-api-qps=1000",
    "--kube-api-burst=1000",
)


@dataclass
class Replica:
    proxy: FaultyProxy
    process: Scheduler

    def binds(self, since: float = 0.0) -> list[Seen]:
        return [seen for seen in self.proxy.requests(BIND) if seen.at >= since]

    def holds(self) -> list[Seen]:
        """Its writes of its own name into the lease that the server took."""
        return [seen for seen in self.lease_writes() if holder(seen)]

    def lease_writes(self) -> list[Seen]:
        return [s for s in self.proxy.requests(LEASE) if s.method != "GET" and s.carried_out in (200, 201)]

    def wait_leads(self, within: float) -> Seen:
        return wait_for(self.holds, within=within, saying="the lease to be taken", tail=self.process.tail)[0]

    def wait_ended(self) -> int | None:
        wait_for(lambda: not self.process.is_running(), saying="the process to end", tail=self.process.tail)
        return self.process.exit_code()


@dataclass
class Replicas:
    """Two of them, the first of which leads, and pods that keep coming."""

    first: Replica
    second: Replica
    audit: Audit
    arrivals: Arrivals
    cluster: Cluster
    bound: list[Pod] = field(default_factory=list)

    def check(self) -> None:
        """All are bound, once, and only ever by who had the lease."""
        self.audit.check(self.arrivals.all(), within=60)
        written = sorted((s.at, name, holder(s)) for name, each in self.named for s in each.lease_writes())
        for name, each in self.named:
            for bind in each.binds():
                at, who, held = [write for write in written if write[0] <= bind.at][-1]
                assert (who, bool(held)) == (name, True), f"{name} binds {bind.at - at:.3f} s after {who}"

    @property
    def named(self) -> tuple[tuple[str, Replica], ...]:
        return ("first", self.first), ("second", self.second)


def holder(seen: Seen) -> str:
    return str(json.loads(seen.body)["spec"].get("holderIdentity") or "")


@pytest.fixture
def replicas(
    control_plane: ControlPlane, cluster: Cluster, start_mooring: StartScheduler
) -> Iterator[Replicas]:
    seed = secrets.token_hex(4)
    print(f"seed {seed}")  # noqa: T201 - shown when it fails
    cluster.add_nodes(NODES, cpu=PER_NODE)
    manifests = [pod(f"pod-{number}", cpu="1") for number in range(PODS)]
    with (
        FaultyProxy(control_plane, "first") as one,
        FaultyProxy(control_plane, "second") as other,
        Audit(cluster) as audit,
        Arrivals(cluster, manifests, seed=seed, pause=0.05, limit=0) as arrivals,
    ):
        control_plane.api.delete(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{NAME}")
        first = Replica(one, start_mooring(leader_elect=True, flags=FLAGS, kubeconfig=one.kubeconfig))
        first.wait_leads(SLACK_S)
        second = Replica(other, start_mooring(leader_elect=True, flags=FLAGS, kubeconfig=other.kubeconfig))
        arrivals.limit = None
        yield Replicas(first, second, audit, arrivals, cluster)
        for each in (first, second):
            each.process.resume()
            each.process.stop()


def test_the_leader_dies(replicas: Replicas) -> None:
    first, second = replicas.first, replicas.second
    assert replicas.audit.wait_bound(PODS // 4, 30)
    assert not second.binds()
    first.process.kill()
    taken = second.wait_leads(LEASE_S + TURN_S + SLACK_S)
    assert taken.at - first.holds()[-1].at >= LEASE_S, "a lease is not taken before it has run out"
    replicas.check()
    assert second.binds()


def test_the_leader_is_told_to_end(replicas: Replicas) -> None:
    """It finishes what it has begun, gives the lease back, and the other need not wait for it to run out."""
    first, second = replicas.first, replicas.second
    assert replicas.audit.wait_bound(PODS // 4, 30)
    assert first.process.stop() == 0
    given_back = first.lease_writes()[-1]
    assert holder(given_back) == ""
    assert all(0 < bind.answered_at <= given_back.at for bind in first.binds())
    taken = second.wait_leads(TURN_S + SLACK_S)
    assert taken.at - given_back.at <= TURN_S + SLACK_S / 4
    replicas.check()
    assert second.binds()


def test_the_leader_freezes_and_wakes_up(replicas: Replicas) -> None:
    """It has much left to do when it freezes; when it wakes up, another leads and it must do none of it."""
    first, second = replicas.first, replicas.second
    first.proxy.rule(BIND, delay(1.0))
    assert replicas.audit.wait_bound(PODS // 4, 30)
    wait_for(lambda: first.proxy.under_way(BIND), saying="binds under way")
    first.process.pause()
    second.wait_leads(LEASE_S + TURN_S + SLACK_S)
    woken = time.monotonic()
    first.process.resume()
    assert first.wait_ended() == 1
    assert not [
        seen for seen in first.proxy.seen if seen.at >= woken and seen.method != "GET" and seen.kind != LEASE
    ]
    assert not [seen for seen in first.holds() if seen.at >= woken]
    replicas.check()
    assert second.binds()


def test_the_leader_is_cut_off(replicas: Replicas) -> None:
    """The network swallows whatever it says: it gives up by itself, before the other may take over."""
    first, second = replicas.first, replicas.second
    assert replicas.audit.wait_bound(PODS // 4, 30)
    swallowing = first.proxy.rule(lambda seen: True, swallow)
    wait_for(lambda: first.process.status("/readyz") == 500, saying="the first to give up")
    given_up = time.monotonic()
    taken = second.wait_leads(LEASE_S + TURN_S + SLACK_S)
    assert taken.at >= given_up - SLACK_S / 4
    first.proxy.drop(swallowing)
    assert first.wait_ended() == 1
    replicas.check()
    assert second.binds()


def test_the_second_is_ready_and_not_leading(replicas: Replicas) -> None:
    """Both answer that they are well; only one has written anything."""
    first, second = replicas.first, replicas.second
    replicas.check()
    assert [each.process.status("/readyz") for each in (first, second)] == [200, 200]
    assert not second.lease_writes()
    assert {seen.method for seen in second.proxy.seen if seen.kind != LEASE} == {"GET"}
