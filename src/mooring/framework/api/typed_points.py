"""Every extension point with its types, for editors and type checkers alone.

`Plugin` has these methods only while types are checked: an editor completes them, and mypy compares what a
policy writes with them. When a scheduler runs, a point that a plugin does not write is not there, and costs
nothing. `docs/points.md` is made from this file; names and parameters are those of `points.POINTS`.
"""

# mypy: disable-error-code="empty-body"

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any

from mooring.cluster.column import Ints
from mooring.cluster.columns import Bools, NodeColumns
from mooring.cluster.view import NodeView
from mooring.framework.api.answers import Mask, PostFilterResult, Rejections, Statuses
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import Interest
from mooring.framework.api.grouping import Group, GroupTrial, GroupWayOut, Plan, Room
from mooring.framework.api.offers import Offer
from mooring.framework.api.queued import Queued
from mooring.framework.api.session import Session
from mooring.framework.api.status import Status
from mooring.model.objects import Object, Pod

Answer = Status | None
Awaited = Answer | Awaitable[Answer]  # of points that may be async


class Points:
    """What a plugin may implement."""

    # queueing
    def pre_enqueue(self, pod: Pod) -> Answer:
        """Before a pod enters the queue, and again when it is about to leave unschedulable ones.

        Returns: None lets it in; a rejecting Status holds it back.
        """

    def less(self, first: Queued, second: Queued) -> bool:
        """Whenever two pods of the queue are compared. A plugin has this or `sort_key`.

        Returns: Whether the first goes before the second: True or False.
        """

    def sort_key(self, queued: Queued) -> Any:
        """Once for each pod that enters the queue. A plugin has this or `less`.

        Returns: What pods are sorted by, smallest first; all keys must compare with each other.
        """

    def events(self) -> Sequence[Interest]:
        """When the plugin is made.

        Returns: What can make a pod schedulable that this plugin rejected; without this method,
        everything.
        """

    # following what the API server says
    def pod_seen(self, pod: Pod) -> None:
        """Each time the API server tells of a pod, whoever schedules it, before anything is decided
        about it.

        Returns: Nothing.
        """

    def pod_bound(self, pod: Pod, node_name: str) -> None:
        """When a pod that this scheduler placed is bound.

        Returns: Nothing.
        """

    def pod_gone(self, pod: Pod) -> None:
        """When a pod is deleted, or is followed no longer because it has finished.

        Returns: Nothing.
        """

    def object_seen(self, before: Object | None, after: Object | None, /) -> None:
        """Each time the API server tells of an object other than a pod or node that is followed.
        `before` is None when it is new, `after` when it has gone.

        Returns: Nothing.
        """

    def follow_up(self) -> None:
        """While this scheduler leads, whenever there is no pod left to decide about, and at least
        once a second.

        Returns: Nothing.
        """

    def wake_at(self) -> float | None:
        """After decisions, to learn when the engine is to be woken for the plugin's sake.

        Returns: A moment in the engine's time, or None.
        """

    # pods tried together
    def order_of(self, pod: Pod) -> tuple[float, str] | None:
        """When a pod enters the queue.

        Returns: The moment and the name it is sorted by instead of its own; None: its own.
        """

    def domains_of_nodes(self) -> Mapping[str, tuple[str, ...]]:
        """When the network is drawn.

        Returns: For each node, its domains, coarsest first.
        """

    def group(self, pod: Pod) -> Group | Status | None:
        """When a pod is taken from the queue.

        Returns: The Group it is tried with, None when it is tried alone, or a Status that rejects it.
        """

    def plan_group(self, cycle: Cycle, group: Group, room: Room) -> Plan | Status | None:
        """Before the members of a group are tried.

        Returns: A Plan that says on which node each is tried, None to try them as single pods are, or
        a Status that rejects the group.
        """

    def post_filter_group(self, cycle: Cycle, group: Group, trial: GroupTrial) -> GroupWayOut | None:
        """When a group did not start.

        Returns: A GroupWayOut (whom to evict, and who is nominated where), or None.
        """

    # scheduling cycle
    def pre_filter(self, cycle: Cycle, pod: Pod) -> Status | Collection[str] | None:
        """Once for each attempt, before nodes are looked at.

        Returns: None, a set of the only node names to look at, a Status that rejects the pod, or
        `skip()`: then the plugin's filter is not asked.
        """

    def add_pod(self, cycle: Cycle, pod: Pod, added: Pod, node: NodeView) -> None:
        """When a pod is tried as if it were on a node: nominated, or put back while victims are
        chosen.

        Returns: Nothing.
        """

    def remove_pod(self, cycle: Cycle, pod: Pod, removed: Pod, node: NodeView) -> None:
        """When a pod is tried as if it were not on its node, as a victim.

        Returns: Nothing.
        """

    def filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> Answer:
        """For a node that may take the pod.

        Returns: None when it may, or a Status that rejects the node.
        """

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Bools | Mask | Rejections:
        """Instead of `filter`, for all nodes at a time.

        Returns: A boolean for each row; alone if there is a `filter` to ask for reasons, else in a
        Mask with the reason, or as Rejections.
        """

    def domain(self, cycle: Cycle, pod: Pod) -> Any:
        """Once for each attempt, of a DomainPlugin.

        Returns: The state that judges domains for the pod, or None when it has nothing to say.
        """

    def post_filter(
        self, cycle: Cycle, pod: Pod, statuses: Statuses
    ) -> PostFilterResult | Offer | Status | None:
        """When no node takes the pod, until one plugin finds a way out.

        Returns: A PostFilterResult, an Offer of several, a Status that says why there is no way out,
        or None.
        """

    def may_evict(self, pod: Pod | None, victim: Pod) -> bool:
        """About each possible victim, when a pod or a gang looks for room; `pod` is None when it is
        for nobody in particular.

        Returns: True or False; one False protects the victim.
        """

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: Sequence[NodeView]) -> Answer:
        """Before the nodes that take the pod are scored.

        Returns: None, or `skip()`: then the plugin's score is not asked.
        """

    def score(self, cycle: Cycle, pod: Pod, node: NodeView) -> int:
        """For each node that takes the pod.

        Returns: An integer from 0 to 100; any integer, if the plugin normalises.
        """

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: NodeColumns) -> Ints:
        """Instead of `score`, for all nodes at a time.

        Returns: An array with an integer for each row.
        """

    def reserve(self, cycle: Cycle, pod: Pod, node_name: str) -> Answer:
        """When the pod has taken its place on the node.

        Returns: None, or a Status that rejects the pod, which then gives its place back.
        """

    def unreserve(self, cycle: Cycle, pod: Pod, node_name: str) -> None:
        """For every pod that was reserved and does not get bound, last plugin first. It must not
        fail.

        Returns: Nothing.
        """

    def permit(self, cycle: Cycle, pod: Pod, node_name: str) -> Answer:
        """After all have reserved.

        Returns: None to go on, `wait(seconds)` to keep the place until the plugin lets go, or a
        Status that rejects the pod.
        """

    normalize: Callable[[Sequence[int]], Sequence[int]]

    # binding cycle
    def pre_bind_pre_flight(self, cycle: Cycle, pod: Pod, node_name: str) -> Answer:
        """Before the binding cycle of a pod is decided.

        Returns: None when `pre_bind` has something to do, `skip()` when it has not, or a Status that
        rejects the pod.
        """

    def pre_bind(self, cycle: Cycle, pod: Pod, node_name: str) -> Awaited:
        """In the binding cycle, before the pod is bound.

        Returns: None or `skip()` to go on; any other Status, or an exception, fails the bind.
        """

    def bind(self, cycle: Cycle, pod: Pod, node_name: str) -> Awaited:
        """In the binding cycle, until one plugin does not skip.

        Returns: None when the pod is bound, `skip()` to leave it to the next; any other Status, or an
        exception, fails the bind.
        """

    def post_bind(self, cycle: Cycle, pod: Pod, node_name: str) -> Awaited:
        """After the pod is bound.

        Returns: Nothing that counts.
        """

    # transformers
    def before_pre_filter(self, cycle: Cycle, pod: Pod) -> Pod | Status | None:
        """Before the pre-filters.

        Returns: The pod as it is to be judged, a Status that rejects it, or None.
        """

    def after_pre_filter(self, cycle: Cycle, pod: Pod, node_names: Collection[str] | None) -> Answer:
        """After the pre-filters, with the nodes they left; None: all.

        Returns: None, or a Status that rejects the pod.
        """

    def before_filter(self, cycle: Cycle, pod: Pod, node: NodeView) -> tuple[Pod, NodeView] | Status | None:
        """Before a node is filtered.

        Returns: The pod and the node as they are to be judged, a Status that rejects the node, or
        None.
        """

    def before_score(
        self, cycle: Cycle, pod: Pod, nodes: Sequence[NodeView]
    ) -> tuple[Pod, Sequence[NodeView]] | Status | None:
        """Before nodes are scored.

        Returns: The pod and the nodes as they are to be scored, a Status that fails the attempt, or
        None.
        """

    def after_post_filter(self, cycle: Cycle, pod: Pod, statuses: Statuses, status: Status | None) -> None:
        """After the post-filters, with what came of them.

        Returns: Nothing.
        """

    def pre_restore_reservation(self, cycle: Cycle, pod: Pod) -> Answer:
        """By nothing yet.

        Returns: None, or a Status.
        """

    def restore_reservation(
        self, cycle: Cycle, pod: Pod, matched: Any, unmatched: Any, node: NodeView
    ) -> Any:
        """When a plugin asks `handle.restore_reservations` what others can reuse on a node.

        Returns: What this one can reuse, or a Status.
        """

    def allocate(self, cycle: Cycle, pod: Pod, node: NodeView) -> Answer:
        """On the chosen node, before the pod takes its place.

        Returns: None, or a Status that rejects the pod.
        """

    def resize_pod(self, cycle: Cycle, pod: Pod, node_name: str) -> Pod | Status | None:
        """On the chosen node, before the pod takes its place.

        Returns: The pod as it is to be counted, a Status that rejects it, or None.
        """

    def pre_bind_patch(self, cycle: Cycle, pod: Pod, node_name: str) -> dict[str, Any] | None:
        """When the pod is placed. All patches are written at once before it is bound.

        Returns: A merge patch of the pod, or None.
        """

    def next_pod(self) -> Pod | None:
        """Before a pod is taken from the queue.

        Returns: The pod that goes first, or None: the queue's own order.
        """

    def find_one_node(
        self, cycle: Cycle, pod: Pod, node_names: Collection[str] | None
    ) -> str | Status | None:
        """After the pre-filters, instead of filters and scores.

        Returns: The name of the node to take, a Status that rejects the pod, or None to go on as
        usual.
        """

    # sessions
    def on_session_open(self, ssn: Session) -> None:
        """When a round begins. Hooks are registered here and only here.

        Returns: Nothing.
        """

    def on_session_close(self, ssn: Session) -> None:
        """When a round ends.

        Returns: Nothing.
        """
