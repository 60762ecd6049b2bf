"""Changes of the cluster that can be undone: the only way the cluster changes.

A statement makes each change at once, so that everyone sees it, and keeps how to undo it.
`checkpoint()` marks a point, `roll_back(mark)` undoes what came after it, `commit()` makes the rest
final. Facts from outside (a node appeared) and decisions (a pod takes a place) go the same way, so
trying, looking and undoing is one thing for gangs, preemption and what-if questions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from mooring.cluster import changes
from mooring.cluster.changes import Change
from mooring.cluster.charge import Charge
from mooring.cluster.pods import ASSUMED, BOUND, PROMISED, RELEASING, Hold, Placed
from mooring.errors import ClusterError
from mooring.model.objects import Node, Pod

if TYPE_CHECKING:
    from mooring.cluster.cluster import Cluster


class Statement(msgspec.Struct, eq=False):
    """A list of changes with their reverses. Leaving a `with` block commits, or rolls back on error."""

    _cluster: Cluster
    _reverses: list[Change] = []
    _of_books: dict[str, list[Change]] | None = None  # written when a pod gave its place back, by its uid

    def __enter__(self) -> Statement:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.commit()
        else:
            self.roll_back()

    def checkpoint(self) -> int:
        return len(self._reverses)

    def roll_back(self, mark: int = 0) -> None:
        """Undoes everything since the mark, last first."""
        if not 0 <= mark <= len(self._reverses):
            raise ClusterError(f"no checkpoint {mark} in a statement of {len(self._reverses)} changes")
        self.undo_since(mark)
        if not mark and self._cluster.books.open:
            self._cluster.books.closed(self, [])

    def undo_since(self, mark: int) -> None:
        """As `roll_back`, within a statement that goes on."""
        while len(self._reverses) > mark:
            change, arguments = self._reverses.pop()
            change(self._cluster, *arguments)

    def commit(self) -> None:
        """Makes the changes final."""
        cluster = self._cluster
        cluster.history.extend(self._reverses)
        if cluster.books.open:
            cluster.books.closed(self, self._reverses)
        self._reverses = []

    def open(self) -> None:
        """What plugins write to books from now on, until the end of the statement, is part of it."""
        self._cluster.books.open_for(self)

    def also(self, reverse: Change) -> None:
        """A book has changed along with the cluster; this undoes it."""
        self._reverses.append(reverse)

    # pods

    def take(
        self,
        pod: Pod,
        node: str,
        row: int | None = None,
        *,
        bound: bool = False,
        charge: Charge | None = None,
    ) -> Placed:
        """The pod takes a place on the node, `row` if that is known. A node nobody knows yet is charged when
        it appears."""
        cluster = self._cluster
        if row is None:
            row = cluster.nodes.rows.get(node)
            if row is None and not bound:
                raise ClusterError(f"there is no node {node!r} for {pod.key} to take a place on")
        if charge is None:
            charge = cluster.charges.of(pod, bound=bound)
        if bound:
            cluster.counts.look_at(pod)
        placed = Placed(pod, node, row, charge, BOUND if bound else ASSUMED)
        self._reverses.append(changes.add_pod(cluster, placed))
        if pod.metadata.uid in cluster.books.taking:
            cluster.books.came(self, placed)
        return placed

    def give_back(self, uid: str) -> Placed:
        """The pod gives its place back, however it held it."""
        placed = self._placed(uid)
        self._reverses.append(changes.remove_pod(self._cluster, placed))
        if uid in self._cluster.books.taking:
            self._let_go(uid, placed)
        return placed

    def _let_go(self, uid: str, placed: Placed) -> None:
        mark = len(self._reverses)
        self._cluster.books.goes(self, placed)
        if self._of_books is None:
            self._of_books = {}
        self._of_books[uid] = self._reverses[mark:]

    def put_back(self, placed: Placed) -> None:
        """A pod that gave its place back in this statement has it again, as it held it; books have again what
        they had."""
        self._reverses.append(changes.add_pod(self._cluster, placed))
        written = self._of_books.pop(placed.pod.metadata.uid, ()) if self._of_books else ()
        for change, arguments in reversed(written):
            self._reverses.append(change(self._cluster, *arguments))

    def evict(self, uid: str) -> Placed:
        """The pod is on its way out: it holds its place until it gives it back."""
        placed = self._placed(uid)
        if placed.hold in (RELEASING, PROMISED):
            raise ClusterError(f"{placed.pod.key} is {placed.hold.value}: it cannot be evicted")
        self._hold(placed, RELEASING)
        return placed

    def keep(self, uid: str, *, assumed: bool = False) -> Placed:
        """The pod is not on its way out after all. `assumed`: the API server has not confirmed it yet."""
        placed = self._placed(uid)
        if placed.hold is RELEASING:
            self._hold(placed, ASSUMED if assumed else BOUND)
        return placed

    def _hold(self, placed: Placed, hold: Hold) -> None:
        self._reverses.append(changes.set_hold(self._cluster, placed, hold))
        if self._cluster.books.following:
            self._cluster.books.holds(self, placed)

    def pipeline(self, pod: Pod, node: str) -> Placed:
        """The pod is promised room that others are releasing; it holds nothing yet."""
        cluster = self._cluster
        row = cluster.nodes.rows.get(node)
        if row is None:
            raise ClusterError(f"there is no node {node!r} to promise {pod.key} room on")
        placed = Placed(pod, node, row, cluster.charges.of(pod, bound=False), PROMISED)
        self._reverses.append(changes.add_pod(cluster, placed))
        if pod.metadata.uid in cluster.books.taking:
            cluster.books.came(self, placed)
        return placed

    def confirm(self, pod: Pod) -> Placed:
        """The API server shows the pod on its node: what we assumed or knew of it is brought up to date."""
        cluster, placed = self._cluster, self._placed(pod.metadata.uid)
        charge = cluster.charges.of(pod, bound=True)
        if not _looks_alike(placed.pod, pod):
            cluster.counts.look_at(pod)
        same = placed.node == pod.spec.node_name and placed.charge is charge
        if same and placed.hold is not PROMISED:
            old, hold = placed.pod, RELEASING if placed.hold is RELEASING else BOUND
            self._reverses.append(changes.set_object(cluster, placed, pod, hold))
            if cluster.books.following and not changes.same_to_plugins(old, pod):
                cluster.books.changed(self, old, placed)
            return placed
        self.give_back(pod.metadata.uid)
        taken = self.take(pod, pod.spec.node_name, bound=True, charge=charge)
        return self.evict(pod.metadata.uid) if placed.hold is RELEASING else taken

    # nodes

    def put_node(self, node: Node) -> None:
        """A node appeared or changed. Pods that were waiting for it to be known are charged to it."""
        cluster = self._cluster
        known, books = cluster.nodes.rows.get(node.name), cluster.books
        if books.following and known is not None:
            books.node_goes(self, known)
        self._reverses.append(changes.put_node(cluster, node))
        row = cluster.nodes.rows[node.name]
        if books.following:
            books.node_came(self, row)
        for placed in map(self._placed, list(cluster.pods.homeless.get(node.name, ()))):
            self._reverses.append(changes.set_row(cluster, placed, row))
            if books.following:
                books.came(self, placed, found=True)

    def drop_node(self, name: str) -> None:
        """A node went. Its pods stay known, charged to nobody, until they are given back."""
        cluster = self._cluster
        row, books = cluster.nodes.rows.get(name), cluster.books
        if row is None:
            raise ClusterError(f"there is no node {name!r} to drop")
        for placed in map(self._placed, list(cluster.pods.on(row))):
            if books.following:
                books.goes(self, placed, stranded=True)
            self._reverses.append(changes.set_row(cluster, placed, None))
        if books.following:
            books.node_goes(self, row)
        self._reverses.append(changes.drop_node(cluster, row))

    def _placed(self, uid: str) -> Placed:
        placed = self._cluster.pods.by_uid.get(uid)
        if placed is None:
            raise ClusterError(f"no pod with uid {uid!r} holds a place")
        return self._cluster.pods.own(placed) if self._cluster.pods.shared else placed


def _looks_alike(old: Pod, new: Pod) -> bool:
    """Whether the very parts that are asked about are the same: nearly always, when a pod is only bound."""
    one, other = old.metadata, new.metadata
    return (
        one.labels is other.labels
        and one.annotations is other.annotations
        and old.spec.affinity is new.spec.affinity
        and old.spec.volumes is new.spec.volumes
    )
