"""What a bind is about goes, comes back or is taken by others while the bind is under way.

With another scheduler beside it, Mooring promises this much: whatever the API server has told it counts.
Pods and binds of others reach it in the order they were made, so a pod that is made after another was bound
is never put where that one left no room. Two schedulers that choose the same place at the same moment can
take it twice over: nobody but the kubelet can prevent that, and it does.
"""

from __future__ import annotations

import json
import random
import secrets
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from e2e.arrivals import Arrivals
from e2e.audit import Audit
from e2e.binding import bind
from e2e.cluster import Cluster
from e2e.control_plane import ControlPlane
from e2e.faulty_proxy import BIND, WATCH, FaultyProxy, Rule, answer, delay, hold, token_in
from e2e.mooring_process import NAME, NAMESPACE
from e2e.nodes import node
from e2e.scheduler import StartScheduler
from e2e.state import Pod
from e2e.waiting import wait_for
from e2e.workloads import pod

NODES, PER_NODE = 20, 8
PODS = NODES * PER_NODE


@pytest.fixture
def proxy(control_plane: ControlPlane) -> Iterator[FaultyProxy]:
    with FaultyProxy(control_plane) as proxy:
        yield proxy


class Held:
    """Binds stay under way until `let_go`."""

    def __init__(self, proxy: FaultyProxy) -> None:
        self._event = threading.Event()
        self.rule: Rule = proxy.rule(BIND, hold(self._event))

    def wait(self, count: int) -> None:
        wait_for(lambda: len(self.rule.used) == count, saying=f"{count} binds under way")

    def let_go(self, *expected: int) -> None:
        """Has them carried out, with these answers."""
        self._event.set()

        def answered() -> bool:
            said = {seen.status for seen in self.rule.used}
            assert said <= set(expected), said
            return True

        wait_for(answered, saying=f"answers {expected}")


def remove(cluster: Cluster, pod: Pod) -> None:
    cluster.api.delete(f"{cluster.pods_path}/{pod.name}", grace_seconds=0)


def test_the_node_goes_and_comes_back(
    cluster: Cluster, proxy: FaultyProxy, start_mooring: StartScheduler
) -> None:
    """The API server binds to nodes that are gone: the pod takes its room when the node is there again."""
    cluster.add_nodes(1, cpu=2)
    held = Held(proxy)
    start_mooring(kubeconfig=proxy.kubeconfig)
    with Audit(cluster) as audit:
        (first,) = cluster.create_pods(pod("first", cpu="2"))
        held.wait(1)
        cluster.remove_node("node-0")
        held.let_go(201)
        cluster.create_nodes([node("node-0", cpu=2), node("node-1", cpu=2)])
        cluster.wait_ready(["node-0", "node-1"])
        (second,) = cluster.create_pods(pod("second", cpu="2"))
        audit.check([first, second])
    assert [cluster.pod(name).node for name in ("first", "second")] == ["node-0", "node-1"]


def test_the_pod_goes_and_another_has_its_name(
    cluster: Cluster, proxy: FaultyProxy, start_mooring: StartScheduler
) -> None:
    """The bind was meant for the one that is gone: it does not bind the new one, and its room is free."""
    cluster.add_nodes(1, cpu=1, labels={"disk": "ssd"})
    held = Held(proxy)
    start_mooring(kubeconfig=proxy.kubeconfig)
    with Audit(cluster) as audit:
        (old,) = cluster.create_pods(pod("web", cpu="1"))
        held.wait(1)
        remove(cluster, old)
        (new,) = cluster.create_pods(pod("web", cpu="1", nodeSelector={"disk": "none"}))
        held.let_go(409)
        cluster.wait_unschedulable("web")
        (other,) = cluster.create_pods(pod("other", cpu="1"))
        audit.check([other])
    assert cluster.pod("web").uid == new.uid
    assert cluster.pod("web").node == ""


def test_the_pod_goes(cluster: Cluster, proxy: FaultyProxy, start_mooring: StartScheduler) -> None:
    cluster.add_nodes(1, cpu=4)
    held = Held(proxy)
    start_mooring(kubeconfig=proxy.kubeconfig)
    with Audit(cluster) as audit:
        gone = cluster.create_pods(*(pod(f"gone-{number}", cpu="1") for number in range(4)))
        held.wait(4)
        for each in gone:
            remove(cluster, each)
        held.let_go(404)
        audit.check(cluster.create_pods(*(pod(f"next-{number}", cpu="1") for number in range(4))))


def test_the_namespace_goes(
    control_plane: ControlPlane, cluster: Cluster, proxy: FaultyProxy, start_mooring: StartScheduler
) -> None:
    """With all its pods, some bound, some being bound, some waiting: their room is free for others."""
    cluster.add_nodes(2, cpu=4)
    start_mooring(kubeconfig=proxy.kubeconfig)
    with Audit(cluster) as audit:
        doomed = Cluster(control_plane)
        doomed.create_pods(*(pod(f"bound-{number}", cpu="1") for number in range(4)))
        assert audit.wait_bound(4, 30)
        held = Held(proxy)
        doomed.create_pods(*(pod(f"late-{number}", cpu="1") for number in range(6)))
        held.wait(4)
        control_plane.api.delete(f"/api/v1/namespaces/{doomed.namespace}")
        wait_for(lambda: not doomed.pods(), within=60, saying="its pods to be gone")
        held.let_go(403, 404)  # nothing can be made in a namespace that goes
        audit.check(cluster.create_pods(*(pod(f"next-{number}", cpu="1") for number in range(8))))


def test_others_bind_the_same_pods(
    cluster: Cluster, proxy: FaultyProxy, start_mooring: StartScheduler
) -> None:
    """Another scheduler of the same name takes pods away, to nodes of its own, while Mooring binds them.

    Whoever of the two is faster, there is a place for every pod: Mooring's must not be lost to pods it lost.
    """
    seed = secrets.token_hex(4)
    print(f"seed {seed}")  # noqa: T201 - shown when it fails
    theirs = cluster.add_nodes(5, "theirs", cpu=PER_NODE, taints=["theirs=yes:NoSchedule"])
    cluster.add_nodes(NODES - len(theirs), cpu=PER_NODE)
    proxy.rule(BIND, delay(0.05))  # so that others are faster now and then
    start_mooring(kubeconfig=proxy.kubeconfig)
    manifests = [pod(f"pod-{number}", cpu="1") for number in range(PODS)]
    places = [name for name in theirs for _ in range(PER_NODE)]
    with (
        Audit(cluster) as audit,
        Arrivals(cluster, manifests, seed=seed, pause=0.02) as arrivals,
        ThreadPoolExecutor(4) as others,
    ):
        passed = 0
        while passed < PODS:
            fresh = wait_for(partial(arrivals.since, passed), every=0.001)
            passed += len(fresh)
            places = take(cluster, others, fresh[::2], places)
        while places:  # what was too late for them so far, and Mooring has no room for
            waiting = [each for each in cluster.pods() if not each.node]
            places = take(cluster, others, waiting, places)
        audit.check(arrivals.all())
    assert [seen for seen in proxy.requests(BIND) if seen.status == 409], "the two have met"


def take(cluster: Cluster, others: ThreadPoolExecutor, pods: list[Pod], places: list[str]) -> list[str]:
    """Binds these pods to these places, as far as there are as many; the places that are left."""
    pairs = list(zip(pods, places, strict=False))
    got = others.map(lambda pair: bind(cluster, *pair), pairs)
    left = [place for (_, place), done in zip(pairs, got, strict=True) if not done]
    return left + places[len(pairs) :]


def test_others_bind_other_pods(cluster: Cluster, start_mooring: StartScheduler) -> None:
    """A pod made after another was bound by somebody else is never put where there is no room left.

    The two fill the cluster by turns, each pod half a node.
    """
    seed = secrets.token_hex(4)
    print(f"seed {seed}")  # noqa: T201 - shown when it fails
    draw = random.Random(seed)
    names = cluster.add_nodes(10, cpu=4)
    start_mooring()
    with Audit(cluster) as audit:
        pods: list[Pod] = []
        for number in range(len(names)):
            spread = cluster.state().spread()
            place = draw.choice([name for name in names if spread[name] < 2])
            (foreign,) = cluster.create_pods(pod(f"foreign-{number}", cpu="2", schedulerName="another"))
            assert bind(cluster, foreign, place)
            pods += (foreign, *cluster.create_pods(pod(f"own-{number}", cpu="2")))
            audit.check(pods)


def test_the_token_is_replaced(
    control_plane: ControlPlane, cluster: Cluster, proxy: FaultyProxy, start_mooring: StartScheduler
) -> None:
    """The old one is refused from one moment to the next; the file has another by then."""
    cluster.add_nodes(NODES, cpu=PER_NODE)
    file, kubeconfig = token_file(control_plane.folder, proxy)
    start_mooring(kubeconfig=kubeconfig)
    with (
        Audit(cluster) as audit,
        Arrivals(cluster, [pod(f"pod-{n}", cpu="1") for n in range(PODS)], seed=0, pause=0.02) as arrivals,
    ):
        assert audit.wait_bound(PODS // 3, 30)
        old, new = proxy.token, token_in(control_plane.service_account(NAMESPACE, NAME))
        assert old != new
        file.write_text(new)
        rule = proxy.rule(lambda seen: seen.token == old, answer(401, "Unauthorized", reason="Unauthorized"))
        proxy.cut(WATCH)
        audit.check(arrivals.all())
    assert rule.used
    assert {seen.token for seen in proxy.requests(BIND)} == {old, new}


def token_file(folder: Path, proxy: FaultyProxy) -> tuple[Path, Path]:
    """The proxy's kubeconfig, with its token in a file."""
    document = json.loads(proxy.kubeconfig.read_text())
    file, kubeconfig = folder / "rotated.token", folder / "rotated.kubeconfig"
    file.write_text(proxy.token)
    document["users"][0]["user"] = {"tokenFile": str(file)}
    kubeconfig.write_text(json.dumps(document))
    return file, kubeconfig
