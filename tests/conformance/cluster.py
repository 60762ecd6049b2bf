"""The cluster that the suite expects: ready nodes in several zones, with addresses and their agents."""

from __future__ import annotations

from collections.abc import Iterator

from e2e.api import Object
from e2e.control_plane import ControlPlane
from e2e.nodes import is_ready, node
from e2e.waiting import wait_for
from e2e.workloads import daemon_set

# A node each. More would be too many: one spec looks at ten pods of every node and then at five, a second for
# each, while all the time its victims are within their grace period of 80 seconds.
ZONES = ("zone-a", "zone-b", "zone-c")
NODE_COUNT = len(ZONES)
# Before many a spec the suite waits a minute for pods named so on every node, and goes on without them.
AGENTS = ("kube-proxy", "fluentd-elasticsearch", "node-problem-detector")
DAEMON_SETS = "/apis/apps/v1/namespaces/kube-system/daemonsets"


def make_cluster(plane: ControlPlane) -> None:
    plane.api.create_all("/api/v1/nodes", nodes())
    plane.api.create_all(DAEMON_SETS, (agent(name) for name in AGENTS))


def wait_until_whole(plane: ControlPlane) -> None:
    """Nodes are ready and their agents run: the scheduler under test has placed them."""

    def whole() -> bool:
        ready = sum(map(is_ready, plane.api.items("/api/v1/nodes")))
        running = [each["status"].get("numberReady", 0) for each in plane.api.items(DAEMON_SETS)]
        return ready == NODE_COUNT and running == [NODE_COUNT] * len(AGENTS)

    wait_for(whole, within=60, saying="nodes and their agents", tail=plane.tails)


def nodes() -> Iterator[Object]:
    """Their addresses are what a kubelet reports; pods take host ports on them."""
    for number, zone in enumerate(ZONES):
        name = f"node-{number}"
        made = node(name, labels={"topology.kubernetes.io/zone": zone}, extra={"ephemeral-storage": "100Gi"})
        addresses = {"InternalIP": f"10.1.0.{number + 1}", "Hostname": name}
        made["status"]["addresses"] = [{"type": kind, "address": what} for kind, what in addresses.items()]
        yield made


def agent(name: str) -> Object:
    return daemon_set(name, cpu="10m", memory="16Mi", tolerations=[{"operator": "Exists"}])
