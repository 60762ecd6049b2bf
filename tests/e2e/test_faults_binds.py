"""Binds that go wrong: refused, put off, slow, or carried out without a word.

The clusters are exactly as large as their pods together, so that room not given back leaves a pod waiting.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import cycle, pairwise

import pytest

from e2e.audit import Audit
from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.faulty_proxy import (
    BIND,
    EVENT,
    LIST,
    WATCH,
    Act,
    FaultyProxy,
    Seen,
    answer,
    cut,
    delay,
    instead,
    lose_answer,
)
from e2e.scheduler import StartScheduler
from e2e.state import Pod
from e2e.waiting import wait_for
from e2e.workloads import pod

NODES, PER_NODE = 20, 8
PODS = NODES * PER_NODE
FAST = ("--kube-api-qps=1000", "--kube-api-burst=1000")
RETRY_AFTER = 2


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[FaultyProxy]:
    with FaultyProxy(control_plane) as proxy:
        yield proxy


def fill(cluster: Cluster, count: int = PODS) -> list[Pod]:
    return cluster.create_pods(*(pod(f"pod-{number}", cpu="1") for number in range(count)))


def carried_out(proxy: FaultyProxy) -> Counter[str]:
    """How often the server has bound each pod."""
    return Counter(seen.pod for seen in proxy.requests(BIND) if seen.carried_out == 201)


def once_each(proxy: FaultyProxy, pods: list[Pod]) -> None:
    assert carried_out(proxy) == Counter(pod.name for pod in pods)


FAULTS: dict[str, Act] = {
    "refused": answer(409, "the object has been modified", reason="Conflict"),
    "never arrives": cut,
    "answer lost": lose_answer,
    "carried out and called an error": instead(500, "etcdserver: request timed out"),
    "carried out and called a conflict": instead(409, "the object has been modified"),
    "refused as an error": answer(500, "etcdserver: leader changed"),
    "put off": answer(429, "too many requests", headers=[("Retry-After", "1")]),
}


def test_binds_go_wrong_in_all_ways(
    cluster: Cluster, proxy: FaultyProxy, start_mooring: StartScheduler
) -> None:
    """A third of all binds, each in one of the ways, drawn by the pod."""
    cluster.add_nodes(NODES, cpu=PER_NODE)
    chosen = {f"pod-{number}" for number in range(0, PODS, 3)}
    ways = dict(zip(sorted(chosen), cycle(sorted(FAULTS)), strict=False))

    def goes(wrong: str, seen: Seen) -> bool:
        return seen.kind == BIND and ways.get(seen.pod) == wrong

    rules = {
        way: proxy.rule(partial(goes, way), FAULTS[way], times=list(ways.values()).count(way))
        for way in FAULTS
    }
    start_mooring(kubeconfig=proxy.kubeconfig, flags=FAST)
    with Audit(cluster) as audit:
        pods = fill(cluster)
        audit.check(pods, within=90)
    assert all(rule.used for rule in rules.values())
    once_each(proxy, pods)


def test_room_is_given_back_when_a_bind_is_refused(
    cluster: Cluster, proxy: FaultyProxy, start_mooring: StartScheduler
) -> None:
    """One pod has its way barred; another gets the only place there is, and then nobody is barred."""
    cluster.add_nodes(1, cpu=1)
    rule = proxy.rule(BIND, answer(409, "not this one", reason="Conflict"))
    start_mooring(kubeconfig=proxy.kubeconfig)
    with Audit(cluster) as audit:
        first, second = cluster.create_pods(pod("first", cpu="1"), pod("second", cpu="1"))
        wait_for(lambda: {seen.pod for seen in rule.used} == {"first", "second"}, saying="both to be tried")
        proxy.drop(rule)
        wait_for(lambda: audit.bound == 1, saying="one to be bound")
        (winner,) = [each for each in cluster.pods() if each.node]
        cluster.api.delete(f"{cluster.pods_path}/{winner.name}", grace_seconds=0)
        audit.check([first if winner.name == "second" else second])


def test_retry_after_is_kept(cluster: Cluster, proxy: FaultyProxy, start_mooring: StartScheduler) -> None:
    """Binds, lists and watches that are put off do not come again before the time the server said."""
    cluster.add_nodes(4, cpu=4)
    put_off = answer(
        429, "too many requests", reason="TooManyRequests", headers=[("Retry-After", str(RETRY_AFTER))]
    )
    rules = [
        proxy.rule(lambda seen: seen.kind == LIST and seen.resource == "nodes", put_off, times=1),
        proxy.rule(lambda seen: seen.kind == WATCH and seen.resource == "nodes", put_off, times=1),
        proxy.rule(BIND, put_off, times=16),
        proxy.rule(EVENT, put_off, times=4),
    ]
    start_mooring(kubeconfig=proxy.kubeconfig, flags=FAST)
    with Audit(cluster) as audit:
        pods = fill(cluster, 16)
        audit.check(pods)
    wait_for(lambda: all(len(rule.used) == rule.times for rule in rules), saying="all to be put off")
    again(proxy.requests(LIST, "nodes"))
    again(proxy.requests(WATCH, "nodes"))
    for each in pods:
        again([seen for seen in proxy.requests(BIND) if seen.pod == each.name])
    once_each(proxy, pods)


def again(tries: list[Seen]) -> None:
    put_off = 0
    for first, second in pairwise(tries):
        if first.status == 429:
            put_off += 1
            assert second.at - first.answered_at >= RETRY_AFTER - 0.05, tries
    assert put_off, tries


def test_a_slow_server(cluster: Cluster, proxy: FaultyProxy, start_mooring: StartScheduler) -> None:
    """Half a second for each answer, the lists at the start included."""
    cluster.add_nodes(NODES, cpu=PER_NODE)
    proxy.rule(lambda seen: True, delay(0.5))
    start_mooring(kubeconfig=proxy.kubeconfig, flags=FAST)
    with Audit(cluster) as audit:
        pods = fill(cluster)
        audit.check(pods)
    once_each(proxy, pods)


def test_answers_come_in_any_order(
    cluster: Cluster, proxy: FaultyProxy, start_mooring: StartScheduler
) -> None:
    cluster.add_nodes(NODES, cpu=PER_NODE)
    draw = random.Random(7)
    for _ in range(PODS):
        proxy.rule(BIND, delay(draw.uniform(0, 1.5)), times=1)
    start_mooring(kubeconfig=proxy.kubeconfig, flags=FAST)
    with Audit(cluster) as audit:
        pods = fill(cluster)
        audit.check(pods)
    once_each(proxy, pods)
