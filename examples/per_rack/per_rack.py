"""At most so many pods of an app in one rack, whoever schedules them."""

from collections.abc import Hashable

from mooring import (
    Action,
    Book,
    Cycle,
    Handle,
    Interest,
    Node,
    Plugin,
    PluginArgs,
    Pod,
    StaticNode,
    Status,
    unschedulable,
)

APP = "app"
RACK = "example.com/rack"


class PodsPerRack(Book[tuple[str, str], int]):
    """How many pods of each app are in each rack."""

    def added(self, pod: Pod, node: StaticNode) -> None:
        self._count(pod, node, +1)

    def removed(self, pod: Pod, node: StaticNode) -> None:
        self._count(pod, node, -1)

    def _count(self, pod: Pod, node: StaticNode, amount: int) -> None:
        if APP in pod.labels and RACK in node.labels:
            self.add((pod.labels[APP], node.labels[RACK]), amount)


class AtMostPerRackArgs(PluginArgs, frozen=True):
    most: int = 2


class AtMostPerRack(Plugin):
    Args = AtMostPerRackArgs

    def __init__(self, args: AtMostPerRackArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._pods = handle.book(PodsPerRack)

    def sign(self, pod: Pod) -> Hashable:
        return pod.labels.get(APP)  # without the label, the policy has nothing to say

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        rack = node.labels.get(RACK)
        if rack and self._pods.count((pod.labels[APP], rack)) >= self.args.most:
            return unschedulable("node(s) were in racks with enough pods of the app")
        return None

    def events(self) -> tuple[Interest, ...]:
        """A pod that goes, or a node in another rack, may make room."""
        return Interest("Pod", Action.DELETE), Interest("Node", Action.ADD | Action.UPDATE_NODE_LABEL)
