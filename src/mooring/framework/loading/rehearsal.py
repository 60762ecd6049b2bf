"""Tries a plugin on a tiny cluster before it is let near a real one.

Two nodes and two pods, one bare and one with a bit of everything. What would fail on the first real
pod (an exception, an answer of the wrong kind, a score above 100, forms that disagree) fails here.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from mooring.cluster.cluster import Cluster
from mooring.cluster.counts import PodCounts
from mooring.cluster.images import Images
from mooring.cluster.labelsets import LabelTest
from mooring.cluster.view import ClusterView, NodeView
from mooring.config.feature_gates import FeatureGates
from mooring.errors import Mistake, PluginFailed, PolicyError, wants_the_end
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.domain import DomainPlugin
from mooring.framework.api.handle import B, Handle, Lister, WaitingPod, check_book, looks_too_far
from mooring.framework.api.kinds import check_listed
from mooring.framework.api.node_trial import Demand, Trial
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.scope import Scope
from mooring.framework.api.session import alone, session_of
from mooring.framework.api.status import REJECTIONS, Code, Status
from mooring.framework.api.writes import Write
from mooring.framework.running.agreement import check_agreement
from mooring.framework.running.forms import Filter, Scorer
from mooring.framework.running.inspection import place_of, pods_concerned
from mooring.model.objects import (
    Container,
    Node,
    NodeSpec,
    NodeStatus,
    Object,
    ObjectMeta,
    Pod,
    PodSpec,
    ResourceRequirements,
    Resources,
    Taint,
    Toleration,
)


class Nothing:
    """A lister that has heard of no object."""

    version = 0

    def get(self, key: str) -> Object | None:
        return None

    def __iter__(self) -> Iterator[Object]:
        return iter(())


class StageHandle(Handle):
    """A scheduler with a cluster and nothing going on in it."""

    def __init__(
        self,
        cluster: Cluster,
        gates: FeatureGates | None = None,
        scope: Scope = Scope.CLUSTER,
        reads: Sequence[str] | None = None,
    ) -> None:
        self._reads = reads  # None: whatever is asked for
        self.profile = "rehearsal"
        self.gates = gates or FeatureGates()
        self.random = random.Random(0)
        self._view = ClusterView(cluster.nodes, cluster.pods)
        self._cluster = cluster
        self.scope = scope
        self.judging: Scope | None = None  # the scope of the plugin that is being asked about nodes

    @property
    def cluster(self) -> ClusterView:
        if self.judging is not None and self.judging.kept:
            raise looks_too_far(self.judging)
        return self._view

    @property
    def images(self) -> Images:
        return self._cluster.nodes.images

    @property
    def counts(self) -> PodCounts:
        return self._cluster.counts

    @property
    def nodes_version(self) -> int:
        return self._cluster.nodes.node_journal.position

    def unique_label(self, key: str) -> bool:
        return self._cluster.nodes.labels.column(key).unique

    @property
    def waiting_pods(self) -> Mapping[str, WaitingPod]:
        return {}

    def activate(self, pods: Iterable[Pod]) -> None:
        return None

    @property
    def now(self) -> float:
        return 0.0

    def write(self, write: Write) -> None:
        return None

    def look_up(self, pod: Pod) -> None:
        return None

    def report(self, pod: Pod, message: str) -> None:
        return None

    def warn(self, pod: Pod, message: str) -> None:
        return None

    def evict(self, pod: Pod, reason: str, message: str) -> None:
        return None

    def lister(self, kind: str) -> Lister:
        if self._reads is not None:
            check_listed(kind, self._reads)
        return Nothing()

    def book(self, kind: type[B], *arguments: Any) -> B:
        check_book(self.scope, kind)
        return self._cluster.books.of(kind, *arguments)

    def touch(self, node_name: str) -> None:
        return None

    def invalidate(self) -> None:
        return None

    def nominated(self, node_name: str) -> list[Pod]:
        return []

    def nomination(self, pod: Pod) -> str:
        return pod.status.nominated_node_name

    def nominated_ahead(self, pod: Pod) -> Mapping[str, tuple[Pod, ...]]:
        return {}

    def trial(self, cycle: Cycle, pod: Pod, node_name: str) -> Trial:
        raise NotImplementedError("nothing is tried while plugins are rehearsed")

    def demand(self, cycle: Cycle, pod: Pod) -> Demand | None:
        return None

    def register_selector(self, key: object, test: LabelTest) -> int:
        return self._cluster.labelsets.register(key, test)

    def restore_reservations(
        self, cycle: Cycle, pod: Pod, matched: Iterable[Any], unmatched: Iterable[Any], node: NodeView
    ) -> dict[str, Any] | Status:
        return {}


def rehearse(plugin: type[Plugin]) -> None:
    """Raises PolicyError with what went wrong, at the place of the method that did it."""
    try:
        args = plugin.Args()
    except (TypeError, ValueError):
        return  # has arguments that must be given: only a configuration can make one
    try:
        cluster = _stage()
        handle = StageHandle(cluster, scope=plugin.scope, reads=plugin.reads)
        made = plugin(args, handle)
        for point in ("pre_enqueue", "order_of", "pod_bound"):
            pods_concerned(made, point)
        _open_session(made, handle)
        _protect(made)
        _play(made, handle, cluster)
    except PluginFailed as failure:
        raise PolicyError(
            [Mistake(place_of(plugin, _method_at(plugin, failure.point)), f"{plugin.__name__}: {failure}")]
        ) from failure
    except BaseException as failure:
        if wants_the_end(failure):
            raise
        what = f"{plugin.__name__} cannot be made: {type(failure).__name__}: {failure}"
        raise PolicyError([Mistake(place_of(plugin, "__init__"), what)]) from failure


def _method_at(plugin: type[Plugin], point: str) -> str:
    """The method that spoke at a point, whichever form it has."""
    return point if hasattr(plugin, point) else f"{point}_nodes"


def _open_session(plugin: Plugin, handle: StageHandle) -> None:
    """Hooks that are registered in vain are found."""
    if (opens := getattr(plugin, "on_session_open", None)) is not None:
        session = session_of(handle.cluster, alone(_pods()[1]), handle.now)
        with session.registering(plugin.name):
            answers.call(plugin.name, "on_session_open", opens, session)


def _protect(plugin: Plugin) -> None:
    """Whether a pod may be evicted is asked for another pod, and for nobody in particular."""
    if (may_evict := getattr(plugin, "may_evict", None)) is not None:
        bare, full = _pods()
        for pod in (bare, None):
            answers.yes(
                plugin.name, "may_evict", answers.call(plugin.name, "may_evict", may_evict, pod, full)
            )


def _play(plugin: Plugin, handle: StageHandle, cluster: Cluster) -> None:
    for pod in _pods():
        cycle = Cycle("rehearsal", 0.0)
        sign = answers.call(plugin.name, "sign", plugin.sign, pod)
        answers.call(plugin.name, "sign", hash, sign)
        if sign is None:
            continue  # it has nothing to say about the pod, and is not asked
        pre_filter = getattr(plugin, "pre_filter", None)
        if pre_filter is not None:
            answer = answers.call(plugin.name, "pre_filter", pre_filter, cycle, pod)
            if isinstance(answer, Status):
                continue  # it skips or rejects the pod: the rest would not run
            if not isinstance(answer, (set, frozenset)):
                answers.status(plugin.name, "pre_filter", answer)
        for point in ("judges", "pre_filters"):
            answers.call(plugin.name, point, getattr(plugin, point), sign)
        _judge(plugin, handle, cycle, pod, cluster)
        _take_place(plugin, cycle, pod, cluster)


def _judge(plugin: Plugin, handle: StageHandle, cycle: Cycle, pod: Pod, cluster: Cluster) -> None:
    """Both forms of filter and score, with the plugin held to its scope as the engine holds it."""
    scores = Scorer.of(plugin) and not _skips_score(plugin, cycle, pod, cluster)
    handle.judging = plugin.scope
    try:
        if filter_form := Filter.of(plugin):
            check_agreement(filter_form, cycle, pod, cluster)
        if scores and (scorer := Scorer.of(plugin)):
            check_agreement(scorer, cycle, pod, cluster)
        if isinstance(plugin, DomainPlugin):
            nodes = ClusterView(cluster.nodes, cluster.pods).nodes
            if what := answers.call(plugin.name, "domain", plugin.rehearse, cycle, pod, nodes):
                raise answers.failed(plugin.name, "domain", what)
    finally:
        handle.judging = None


def _take_place(plugin: Plugin, cycle: Cycle, pod: Pod, cluster: Cluster) -> None:
    """Reserves, asks for permission and unreserves; what is written to books meanwhile is undone."""
    statement = cluster.statement()
    statement.open()
    try:
        for point, codes in (
            ("reserve", REJECTIONS),
            ("permit", REJECTIONS | {Code.WAIT}),
            ("unreserve", ()),
        ):
            if (method := getattr(plugin, point, None)) is not None:
                answer = answers.call(plugin.name, point, method, cycle, pod, "furnished")
                if point != "unreserve":
                    answers.status(plugin.name, point, answer, codes)
    finally:
        statement.roll_back()


def _skips_score(plugin: Plugin, cycle: Cycle, pod: Pod, cluster: Cluster) -> bool:
    pre_score = getattr(plugin, "pre_score", None)
    if pre_score is None:
        return False
    nodes = () if plugin.scope.kept else ClusterView(cluster.nodes, cluster.pods).nodes
    answer = answers.call(plugin.name, "pre_score", pre_score, cycle, pod, nodes)
    return answers.status(plugin.name, "pre_score", answer, {Code.SKIP}) is not None


def _stage() -> Cluster:
    cluster = Cluster()
    labels = {"kubernetes.io/hostname": "furnished", "topology.kubernetes.io/zone": "a"}
    allocatable: Resources = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "10Gi", "pods": "110"}
    furnished = Node(
        metadata=ObjectMeta(name="furnished", labels=labels, annotations={"note": "x"}),
        spec=NodeSpec(taints=(Taint(key="k", value="v", effect="PreferNoSchedule"),)),
        status=NodeStatus(allocatable=allocatable, capacity=allocatable),
    )
    with cluster.statement() as statement:
        statement.put_node(Node(metadata=ObjectMeta(name="bare")))
        statement.put_node(furnished)
        statement.take(_pods()[1].on_node("furnished"), "furnished", bound=True)
    return cluster


def _pods() -> tuple[Pod, Pod]:
    requests = ResourceRequirements(requests={"cpu": "100m", "memory": "64Mi"})
    spec = PodSpec(
        containers=(Container(name="main", image="app:1", resources=requests),),
        tolerations=(Toleration(operator="Exists"),),
        priority=7,
    )
    bare = Pod(metadata=ObjectMeta(name="bare", namespace="default", uid="bare"))
    meta = ObjectMeta(
        name="full", namespace="default", uid="full", labels={"app": "a"}, annotations={"b": "c"}
    )
    return bare, msgspec.structs.replace(bare, metadata=meta, spec=spec)
