"""Pods that must not be evicted stay off spot nodes; everybody else prefers on-demand ones."""

from mooring import Cycle, Node, Plugin, Pod, Scope, Status, unresolvable


class OffSpot(Plugin):
    scope = Scope.STATIC  # of a node it reads the object, not the pods there

    def filter(self, cycle: Cycle, pod: Pod, node: Node) -> Status | None:
        spot = node.labels.get("kai.scheduler/instance-type") == "spot"
        return unresolvable("node(s) were spot instances") if spot and not pod.preemptible else None

    def score(self, cycle: Cycle, pod: Pod, node: Node) -> int:
        return 0 if node.labels.get("kai.scheduler/instance-type") == "spot" else 100
