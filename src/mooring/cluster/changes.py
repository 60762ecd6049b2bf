"""The elementary changes of the cluster. Each returns its own reverse, which is a change again.

So a change can be undone: a statement rolls back with them, and a fork is rewound to an earlier moment. Where
entries of pods are shared with a fork, a change finds the entry by the pod.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from mooring.cluster.images import ImageSizes
from mooring.cluster.pods import PROMISED, RELEASING, Hold, Placed
from mooring.errors import ClusterError
from mooring.model.objects import Node, Pod, PodSpec

if TYPE_CHECKING:
    from mooring.cluster.cluster import Cluster

Change = tuple[Callable[..., Any], tuple[Any, ...]]  # called with the cluster first; returns its reverse

REMEMBERED = 5000  # changes the history reaches back


def add_pod(cluster: Cluster, placed: Placed) -> Change:
    if placed.pod.metadata.uid in cluster.pods.by_uid:
        raise ClusterError(f"{placed.pod.key} holds a place already")
    cluster.pods.add(placed)
    _charge(cluster, placed, 1)
    for observer in cluster.observers:
        observer.taken(placed)
    return remove_pod, (placed,)


def remove_pod(cluster: Cluster, placed: Placed) -> Change:
    if cluster.pods.shared:
        placed = cluster.pods.by_uid[placed.pod.metadata.uid]
    cluster.pods.remove(placed)
    _charge(cluster, placed, -1)
    for observer in cluster.observers:
        observer.given_back(placed)
    return add_pod, (placed,)


def set_hold(cluster: Cluster, placed: Placed, hold: Hold) -> Change:
    if cluster.pods.shared:
        placed = cluster.pods.own(placed)
    before, goes = placed.hold, hold is RELEASING
    placed.hold = hold
    if goes != (before is RELEASING):
        if placed.row is not None:
            cluster.nodes.journal.write(placed.row)
        for observer in cluster.observers:
            tell = observer.evicted if goes else observer.kept
            tell(placed)
    return set_hold, (placed, before)


def set_object(cluster: Cluster, placed: Placed, pod: Pod, hold: Hold) -> Change:
    """The pod's object changed and its charge did not."""
    if cluster.pods.shared:
        placed = cluster.pods.own(placed)
        if placed.row is not None:
            cluster.nodes.journal.write(placed.row)  # whoever has the entry from before looks at it anew
    old, before = placed.pod, placed.hold
    row, same = placed.row, same_to_plugins(old, pod)
    if not same:
        placed.kind = -1
    if same or row is None or before is PROMISED:
        placed.pod, placed.hold, placed.labelset = pod, hold, None
    else:
        cluster.counts.change(placed, -1)
        placed.pod, placed.hold, placed.labelset = pod, hold, None
        cluster.counts.change(placed, 1)
        cluster.nodes.journal.write(row)
    return set_object, (placed, old, before)


def set_row(cluster: Cluster, placed: Placed, row: int | None) -> Change:
    """The pod's node became known (a row) or unknown (None)."""
    if cluster.pods.shared:
        placed = cluster.pods.own(placed)
    before = placed.row
    _charge(cluster, placed, -1)
    cluster.pods.remove(placed)
    placed.row = row
    cluster.pods.add(placed)
    _charge(cluster, placed, 1)
    return set_row, (placed, before)


def put_node(
    cluster: Cluster, node: Node, arrival: int | None = None, image_sizes: ImageSizes | None = None
) -> Change:
    nodes = cluster.nodes
    known = nodes.rows.get(node.name)
    before = None if known is None else nodes.object_at(known)
    counted = [*nodes.resources]
    forgotten = nodes.put(node, image_sizes)
    if new := [name for name in nodes.resources if name not in counted]:
        _count_in(cluster, new)
    row = nodes.rows[node.name]
    if arrival is not None:
        nodes.arrival[row] = arrival
    return (drop_node, (row,)) if before is None else (put_node, (before, None, forgotten))


def drop_node(cluster: Cluster, row: int) -> Change:
    nodes = cluster.nodes
    node, arrival = nodes.object_at(row), nodes.arrival[row]
    return put_node, (node, arrival, nodes.drop(row))


def _count_in(cluster: Cluster, resources: list[str]) -> None:
    """Pods may have taken a resource before any node had it."""
    for placed in cluster.pods.by_uid.values():
        if placed.row is not None and placed.hold is not PROMISED:
            for name, amount in placed.charge.amounts:
                if name in resources:
                    cluster.nodes.count_in(placed.row, name, amount)


def _charge(cluster: Cluster, placed: Placed, sign: int) -> None:
    row, nodes = placed.row, cluster.nodes
    if row is None:
        return
    if placed.hold is PROMISED:
        nodes.journal.write(row)
        return
    cluster.counts.change(placed, sign)
    nodes.charge(row, placed.charge, sign)


def same_to_plugins(old: Pod, new: Pod) -> bool:
    """Whether a plugin that reads the pods of a node sees no difference."""
    one, other = old.metadata, new.metadata
    return (
        one.labels == other.labels
        and one.annotations == other.annotations
        and one.owner_references == other.owner_references
        and one.deletion_timestamp == other.deletion_timestamp
        and old.status == new.status
        and _same_but_for_the_node(old.spec, new.spec)
    )


def _same_but_for_the_node(old: PodSpec, new: PodSpec) -> bool:
    return msgspec.structs.replace(old, node_name=new.node_name) == new


class History:
    """The reverses of the last changes that were made final."""

    def __init__(self) -> None:
        self._reverses: deque[Change] = deque(maxlen=REMEMBERED)
        self.position = 0

    def fork(self) -> History:
        fork = History()
        fork._reverses, fork.position = self._reverses.copy(), self.position
        return fork

    def extend(self, reverses: list[Change]) -> None:
        self._reverses.extend(reverses)
        self.position += len(reverses)

    def reaches(self, position: int) -> bool:
        return 0 <= self.position - position <= len(self._reverses)

    def rewind(self, cluster: Cluster, position: int) -> None:
        """Undoes whatever came after an earlier position. There is no way forward again."""
        try:
            while self.position > position:
                change, arguments = self._reverses.pop()
                change(cluster, *arguments)
                self.position -= 1
        except LookupError as error:  # a statement that is open has changed what is to be undone
            raise ClusterError(f"change {self.position} cannot be undone as things are") from error
