"""One test's share of a control plane: a namespace, its nodes, and a clean end."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from functools import partial
from typing import Any

from e2e.api import Object, Refused, at_once
from e2e.control_plane import ControlPlane
from e2e.nodes import is_ready, node
from e2e.state import Pod, State
from e2e.waiting import wait_for

NODES = "/api/v1/nodes"
RETURN_S = 90.0  # within which who met a server that was away has tried again: it may wait for a minute
NODES_READY_S = 2 * RETURN_S  # both of those who play kubelets and of the controllers that take taints away
PER_CLUSTER = (
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/storage.k8s.io/v1/storageclasses",
    "/apis/storage.k8s.io/v1/csidrivers",
    "/apis/storage.k8s.io/v1/csinodes",
    "/api/v1/persistentvolumes",
)


class Cluster:
    """What a test works with. Everything it makes is in `namespace`, or is cleaned away whoever made it."""

    def __init__(self, control_plane: ControlPlane) -> None:
        self.control_plane = control_plane
        self.api = control_plane.api
        self.namespace = f"test-{secrets.token_hex(4)}"
        self.pods_path = f"/api/v1/namespaces/{self.namespace}/pods"
        self.api.create("/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        account = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/default"
        saying = "the namespace's service account"  # pods need it
        wait_for(partial(self.api.exists, account), within=RETURN_S, saying=saying)

    def kubectl(self, *words: str, input: str | None = None) -> str:  # noqa: A002 - subprocess's word
        """kubectl in the test's namespace."""
        return self.control_plane.kubectl("-n", self.namespace, *words, input=input)

    def apply(self, *manifests: Any) -> str:
        """Objects, YAML texts, or paths of files and folders, by `kubectl apply`."""
        return self.control_plane.kubectl.apply(*manifests, namespace=self.namespace)

    def add_nodes(
        self, count: int, prefix: str = "node", *, within: float = NODES_READY_S, **words: Any
    ) -> list[str]:
        """Nodes `prefix-0` and on, made by `nodes.node(name, **words)`; returns when they are ready."""
        names = [f"{prefix}-{number}" for number in range(count)]
        self.create_nodes(node(name, **words) for name in names)
        self.wait_ready(names, within=within)
        return names

    def create_nodes(self, manifests: Iterable[Object]) -> None:
        self.api.create_all(NODES, manifests)

    def wait_ready(self, names: Iterable[str], *, within: float = NODES_READY_S) -> None:
        wanted = set(names)

        def not_ready() -> set[str]:
            ready = {one["metadata"]["name"] for one in self.api.items(NODES) if is_ready(one)}
            return wanted - ready

        wait_for(
            lambda: not not_ready(), within=within, saying="nodes to be ready", tail=self.control_plane.tails
        )

    def remove_node(self, name: str) -> None:
        self.api.delete(f"{NODES}/{name}")

    def create_pods(self, *manifests: Object) -> list[Pod]:
        """Pods as they are, several at once, in the test's namespace."""
        return [Pod(raw) for raw in self.api.create_all(self.pods_path, manifests)]

    def pod(self, name: str) -> Pod:
        return Pod(self.api.get(f"{self.pods_path}/{name}"))

    def pods(self, selector: str = "") -> list[Pod]:
        """The namespace's pods, by a label selector such as `app=web`."""
        query = {"labelSelector": selector} if selector else {}
        return [Pod(raw) for raw in self.api.items(self.pods_path, **query)]

    def state(self) -> State:
        """Nodes and pods of the whole cluster."""
        return State.read(self.api)

    def wait_bound(self, count: int, selector: str = "", *, within: float = 30) -> list[Pod]:
        """The pods, once exactly that many are bound and not about to go."""
        return self._wait_pods(count, selector, within, "bound", lambda pod: bool(pod.node))

    def wait_running(self, count: int, selector: str = "", *, within: float = 30) -> list[Pod]:
        return self._wait_pods(count, selector, within, "running", lambda pod: pod.phase == "Running")

    def wait_unschedulable(self, name: str, *, within: float = 30) -> Pod:
        """The pod, once the scheduler said that it fits nowhere; its `message` says why."""

        def told() -> Pod | None:
            pod = self.pod(name)
            return pod if pod.reason == "Unschedulable" else None

        return wait_for(told, within=within, saying=f"{name} to be told unschedulable")

    def events(self, name: str = "") -> list[Object]:
        """Events of the namespace, or those about one object."""
        found = self.api.items(f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events")
        return [each for each in found if not name or each["regarding"]["name"] == name]

    def clean(self) -> None:
        """Leaves nothing behind that a scheduler could see: the next test starts on an empty cluster."""
        self.api.delete(f"/api/v1/namespaces/{self.namespace}")  # from now on nobody adds to it
        wait_for(self._no_pods, within=60, saying="the test's pods to be gone")
        self.api.send("DELETE", NODES, {})
        for path in PER_CLUSTER:
            self._delete_made(path)

    def _wait_pods(self, count: int, selector: str, within: float, said: str, wanted: Any) -> list[Pod]:
        def those() -> tuple[list[Pod]]:
            pods = self.pods(selector)
            found = [pod for pod in pods if wanted(pod) and not pod.deleting]
            lines = [f"{pod.name}: {pod.phase} {pod.node} {pod.message}" for pod in pods[:10]]
            assert len(found) == count, f"{len(found)} of {len(pods)} pods {said}\n" + "\n".join(lines)
            return (found,)

        (found,) = wait_for(those, within=within, saying=f"{count} pods {said}")
        return found

    def _no_pods(self) -> bool:
        self.api.send("DELETE", self.pods_path, {"gracePeriodSeconds": 0})
        return not self.api.items(self.pods_path)

    def _delete_made(self, path: str) -> None:
        """Objects that belong to no namespace, but for those Kubernetes itself makes."""
        made = [one["metadata"]["name"] for one in self.api.items(path)]
        at_once(self._delete, ({"path": f"{path}/{name}"} for name in made if not name.startswith("system-")))

    def _delete(self, at: Object) -> Object:
        try:
            self.api.delete(at["path"])
        except Refused as refused:
            if refused.code != 409:
                raise
        return at
