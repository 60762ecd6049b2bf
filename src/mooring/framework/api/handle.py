"""What a plugin can ask of the scheduler around it."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from mooring.cluster.books.book import Book
from mooring.cluster.counts import PodCounts
from mooring.cluster.images import Images
from mooring.cluster.labelsets import LabelTest
from mooring.cluster.view import ClusterView, NodeView
from mooring.config.feature_gates import FeatureGates
from mooring.errors import ScopeError
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.node_trial import Demand, Trial
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Status
from mooring.framework.api.writes import Write
from mooring.framework.metrics.meter import Meter
from mooring.model.objects import Object, Pod

B = TypeVar("B", bound=Book[Any, Any])


class Api(Protocol):
    """The API server as binding plugins see it. Every call may fail with an exception of its words."""

    async def bind(self, pod: Pod, node_name: str) -> None: ...

    async def patch(self, kind: str, key: str, patch: dict[str, Any]) -> None: ...

    async def get(self, kind: str, key: str) -> Any: ...

    async def sleep(self, seconds: float) -> None:
        """Waits between two looks at the server."""


class WaitingPod(Protocol):
    """A pod that holds its place and waits at permit."""

    @property
    def pod(self) -> Pod: ...

    @property
    def node_name(self) -> str: ...

    @property
    def pending_plugins(self) -> tuple[str, ...]: ...

    def allow(self, plugin: str) -> None:
        """This plugin no longer holds the pod back; it is bound when no other does."""

    def reject(self, plugin: str, message: str) -> None:
        """The pod gives its place back and is unschedulable for this reason."""

    def preempt(self, plugin: str, message: str) -> None:
        """The pod gives its place back to a more important one, and is tried again after a back-off."""


class Lister(Protocol):
    """Objects of one kind, as last heard of."""

    @property
    def version(self) -> int:
        """Moves with every change of any of them."""

    def get(self, key: str) -> Object | None: ...

    def __iter__(self) -> Iterator[Object]: ...


def looks_too_far(scope: Scope) -> ScopeError:
    """A plugin whose answers are kept looks at more than the node it is asked about."""
    return ScopeError(f"reads the cluster, which scope {scope.name} does not declare: use scope CLUSTER")


def check_book(scope: Scope, book: type[Book[Any, Any]]) -> None:
    """Raises ScopeError for a book whose changes do not reach what is kept of a plugin's answers."""
    if scope is Scope.CLUSTER or (scope is Scope.ROW and book.marks_rows):
        return
    what = f"reads the book {book.name}, which scope {scope.name} does not declare"
    may = "use scope CLUSTER, or ROW with a book that touches nodes and says marks_rows"
    raise ScopeError(f"{what}: {may}")


class Handle(ABC):
    """Given to each plugin when it is made; lives as long as its profile."""

    api: Api | None = None  # present in the binding cycle only
    meter: Meter | None = None  # where plugins count; None when nobody reads it
    profile: str
    gates: FeatureGates
    books: Mapping[str, Book[Any, Any]] = MappingProxyType({})  # those it has given, by name
    listed: Set[str] = frozenset()  # the kinds it has given listers of
    random: random.Random  # the engine's seeded source

    @property
    @abstractmethod
    def cluster(self) -> ClusterView:
        """All nodes and placed pods. Refused while a kept answer (scope STATIC or ROW) is worked out."""

    @property
    @abstractmethod
    def images(self) -> Images:
        """Container images on nodes. A plugin that keeps answers about them has their version as its own."""

    @property
    @abstractmethod
    def counts(self) -> PodCounts:
        """How many pods on each node match a selector or carry a term."""

    @property
    @abstractmethod
    def nodes_version(self) -> int:
        """Moves when a node object comes, changes or goes."""

    @abstractmethod
    def unique_label(self, key: str) -> bool:
        """Whether no two nodes have the same value of a label, as with host names."""

    @property
    @abstractmethod
    def waiting_pods(self) -> Mapping[str, WaitingPod]:
        """Pods waiting at permit, by uid."""

    @abstractmethod
    def activate(self, pods: Iterable[Pod]) -> None:
        """Has waiting pods tried again now."""

    @property
    @abstractmethod
    def now(self) -> float:
        """The engine's time, in seconds; in a real cluster that of the epoch."""

    @abstractmethod
    def write(self, write: Write) -> None:
        """Has an object written. What comes of it shows when the object changes."""

    @abstractmethod
    def look_up(self, pod: Pod) -> None:
        """Has the API server asked for the last state of a pod that is no longer followed. Whatever it
        answers, plugins hear of the pod at `pod_gone` once more; with its last phase, if it has finished."""

    @abstractmethod
    def report(self, pod: Pod, message: str) -> None:
        """Says on a pod that waits why it does: its condition, and an event."""

    @abstractmethod
    def warn(self, pod: Pod, message: str) -> None:
        """Says on a pod, by an event, that something it says does not count. It goes on all the same."""

    @abstractmethod
    def evict(self, pod: Pod, reason: str, message: str) -> None:
        """Has a placed pod evicted for a reason of its own, not to make room for another."""

    def give_up_nomination(self, pod: Pod) -> None:
        """A pod that is not tried any more leaves the room kept for it to others."""
        return

    def judged_outside(self, pod: Pod) -> bool:
        """Whether extenders have a say about the pod: then it is never tried together with others."""
        return False

    @abstractmethod
    def lister(self, kind: str) -> Lister:
        """Objects of a kind other than Pod and Node, if the plugin has it in its `reads`; else ScopeError."""

    @abstractmethod
    def book(self, kind: type[B], *arguments: Any) -> B:
        """The book of a name: one for all plugins of all profiles, made with the arguments for the first who
        asks. To be asked for when a plugin is made. Refused when answers of the plugin's scope are kept
        beyond a change of the book."""

    @abstractmethod
    def touch(self, node_name: str) -> None:
        """Kept answers about one node are no longer right: something outside node and pod changed. Pods that
        this plugin rejected are tried again if it registers for events of a resource of its own name."""

    @abstractmethod
    def invalidate(self) -> None:
        """All kept answers of this plugin are no longer right: something outside node and pod changed."""

    @abstractmethod
    def nominated(self, node_name: str) -> list[Pod]:
        """Pods that are nominated to run on a node and not there yet."""

    @abstractmethod
    def nomination(self, pod: Pod) -> str:
        """The node a pod is nominated to; "" when to none."""

    @abstractmethod
    def nominated_ahead(self, pod: Pod) -> Mapping[str, tuple[Pod, ...]]:
        """Pods of the same or a higher priority that are to come to nodes, by node. The same tuple as long
        as it is the same pods."""

    @abstractmethod
    def trial(self, cycle: Cycle, pod: Pod, node_name: str) -> Trial:
        """Tries a node for a pod with some of the pods on it gone."""

    @abstractmethod
    def demand(self, cycle: Cycle, pod: Pod) -> Demand | None:
        """What the pod needs to be free. None when other filters that look at pods come first."""

    def preemption_is_judged(self, pod: Pod) -> bool:
        """Whether extenders have a say in who makes room for the pod: then there must be an Offer."""
        return False

    def may_evict(self, pod: Pod | None) -> Callable[[Pod], bool] | None:
        """Asks policies of this profile whether a pod may be evicted for another, or for nobody in
        particular; None when no policy has anything to say."""
        return None

    @abstractmethod
    def register_selector(self, key: object, test: LabelTest) -> int:
        """Makes pods that differ in matching a selector differ for placement. Returns its id."""

    @abstractmethod
    def restore_reservations(
        self, cycle: Cycle, pod: Pod, matched: Iterable[Any], unmatched: Iterable[Any], node: NodeView
    ) -> dict[str, Any] | Status:
        """Asks each plugin what it can reuse of reservations on a node: {plugin name: its answer}."""
