"""What the API server holds, read at once, and what must always be true of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from e2e.amounts import amounts, asked_by, total
from e2e.api import Api, Object

DONE = ("Succeeded", "Failed")
ANYWHERE = ("", "0.0.0.0")


@dataclass(frozen=True)
class Pod:
    """One pod; `raw` is the whole object."""

    raw: Object

    @property
    def name(self) -> str:
        return str(self.raw["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.raw["metadata"]["namespace"])

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def uid(self) -> str:
        return str(self.raw["metadata"]["uid"])

    @property
    def node(self) -> str:
        """Empty while it is not bound."""
        return str(self.raw["spec"].get("nodeName", ""))

    @property
    def nominated(self) -> str:
        return str(self.raw["status"].get("nominatedNodeName", ""))

    @property
    def phase(self) -> str:
        return str(self.raw["status"].get("phase", ""))

    @property
    def deleting(self) -> bool:
        return "deletionTimestamp" in self.raw["metadata"]

    @property
    def labels(self) -> dict[str, str]:
        return dict(self.raw["metadata"].get("labels", {}))

    @property
    def annotations(self) -> dict[str, str]:
        return dict(self.raw["metadata"].get("annotations", {}))

    def condition(self, kind: str = "PodScheduled") -> Object:
        """The condition of this type; empty when the pod has none."""
        conditions = self.raw["status"].get("conditions", ())
        return next((each for each in conditions if each["type"] == kind), {})

    @property
    def reason(self) -> str:
        """Why it is not scheduled, in the scheduler's words: `Unschedulable`, `SchedulingGated`."""
        return str(self.condition().get("reason", ""))

    @property
    def message(self) -> str:
        return str(self.condition().get("message", ""))


@dataclass(frozen=True)
class State:
    """Nodes and pods as they were when it was read."""

    nodes: dict[str, Object]
    pods: dict[str, Pod]  # by namespace/name

    @classmethod
    def read(cls, api: Api) -> State:
        """Pods before nodes: a node that a pod was bound to is then seen, unless it was deleted since."""
        pods = [Pod(raw) for raw in api.items("/api/v1/pods")]
        nodes = {raw["metadata"]["name"]: raw for raw in api.items("/api/v1/nodes")}
        return cls(nodes, {pod.key: pod for pod in pods})

    def on_nodes(self) -> Iterator[tuple[str, list[Pod]]]:
        """Pods that take room, by the node they are on."""
        found: defaultdict[str, list[Pod]] = defaultdict(list)
        for pod in self.pods.values():
            if pod.node and pod.phase not in DONE:
                found[pod.node].append(pod)
        yield from found.items()

    def spread(self) -> Counter[str]:
        """How many pods each node carries."""
        return Counter({name: len(pods) for name, pods in self.on_nodes()})

    def check_no_overcommit(self) -> None:
        """No node carries more than it has, and no two pods on it want the same host port."""
        wrong = [problem for name, pods in self.on_nodes() for problem in self._problems(name, pods)]
        assert not wrong, "\n".join(wrong)

    def check_none_lost(self, expected: Iterable[str]) -> None:
        """These pods, by namespace/name, are all there; each is bound or says why not."""
        wanted = set(expected)
        missing = sorted(wanted - self.pods.keys())
        assert not missing, f"lost: {missing}"
        silent = sorted(key for key in wanted if not self.pods[key].node and not self.pods[key].reason)
        assert not silent, f"neither bound nor told why: {silent}"

    def _problems(self, name: str, pods: list[Pod]) -> Iterator[str]:
        if name not in self.nodes:
            return  # it was deleted under them; its pods are about to follow
        has = amounts(self.nodes[name]["status"].get("allocatable"))
        for resource, asked in total(asked_by(pod.raw) for pod in pods).items():
            if asked > has[resource]:
                yield f"{name}: {float(asked):g} {resource} taken of {float(has[resource]):g}"
        for port, takers in Counter(port for pod in pods for port in ports_of(pod)).items():
            if takers > 1:
                yield f"{name}: {takers} pods have host port {port}"


def ports_of(pod: Pod) -> set[tuple[str, int]]:
    """Host ports by protocol. Addresses are not told apart: tests here use none."""
    return {
        (port.get("protocol", "TCP"), port["hostPort"])
        for container in pod.raw["spec"]["containers"]
        for port in container.get("ports", ())
        if port.get("hostPort") and port.get("hostIP", "") in ANYWHERE
    }
