"""SpotGuard: pods that must not be evicted stay off spot nodes; all others prefer on-demand nodes.

A pod counts as preemptible when its priority is below 100.
"""

from __future__ import annotations

from collections.abc import Hashable

from mooring import (
    Action,
    Cycle,
    Hint,
    Interest,
    Node,
    NodeObject,
    Plugin,
    PluginArgs,
    Pod,
    Scope,
    Status,
    reads_spec_only,
    unresolvable,
)

NOT_PREEMPTIBLE = "node(s) were spot instances and the pod is not preemptible"
SPOT_SCORE, ON_DEMAND_SCORE = 0, 100


class SpotGuard(Plugin):
    scope = Scope.STATIC  # node labels are all it reads of a node

    class Args(PluginArgs):
        """A node is a spot node when its label `label` has the value `value`."""

        label: str = "kai.scheduler/instance-type"
        value: str = "spot"

    args: Args

    @reads_spec_only
    def sign(self, pod: Pod) -> Hashable:
        return pod.preemptible

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        if self._is_spot(node.labels) and not pod.preemptible:
            return unresolvable(NOT_PREEMPTIBLE)  # no eviction turns a spot node into another kind
        return None

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return SPOT_SCORE if self._is_spot(node.labels) else ON_DEMAND_SCORE

    def events(self) -> tuple[Interest, ...]:
        return (Interest("Node", Action.ADD | Action.UPDATE_NODE_LABEL, self.opened),)

    def opened(self, pod: Pod, old: NodeObject | None, new: NodeObject) -> Hint:
        """A node that is not spot came, or a spot node became another kind."""
        was_closed = old is None or self._is_spot(old.labels)
        return Hint.QUEUE if was_closed and not self._is_spot(new.labels) else Hint.SKIP

    def _is_spot(self, labels: dict[str, str]) -> bool:
        return labels.get(self.args.label) == self.args.value
