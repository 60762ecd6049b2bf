"""What plugins see of the running engine."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mooring.cluster.books.book import Book
from mooring.cluster.counts import PodCounts
from mooring.cluster.images import Images
from mooring.cluster.labelsets import LabelTest
from mooring.cluster.view import ClusterView, NodeView
from mooring.config.feature_gates import FeatureGates
from mooring.engine.decisions import UNSCHEDULABLE, Evict, Look, Nominate, Refuse, Wait
from mooring.engine.objects import ObjectsOfKind
from mooring.engine.parts import Parts
from mooring.engine.permit_waiting import WaitingPods
from mooring.engine.placement.node_trial import NodeTrial, demand_of
from mooring.errors import BookError
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.handle import B, Handle, WaitingPod, check_book, looks_too_far
from mooring.framework.api.kinds import check_listed
from mooring.framework.api.node_trial import Demand, Trial
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Status
from mooring.framework.api.writes import Write, check_write
from mooring.model.objects import Object, ObjectMeta, Pod
from mooring.model.texts import clipped

RESTORING = "reservations are being restored"


class EngineHandle(Handle):
    """The handle of one plugin of one profile."""

    def __init__(
        self, parts: Parts, profile: str, plugin: type[Plugin], gates: FeatureGates, rng: random.Random
    ) -> None:
        self._parts = parts
        self._plugin = plugin.name
        self.books: dict[str, Book[Any, Any]] = {}  # those it was given, by name
        self.listed: set[str] = set()
        self._scope = plugin.scope
        self._reads = plugin.reads
        self.meter = parts.meter
        self.profile = profile
        self.gates = gates
        self.random = rng

    @property
    def cluster(self) -> ClusterView:
        if self._scope.kept and self._parts.placer.evaluating:
            raise looks_too_far(self._scope)
        return self._parts.view

    @property
    def images(self) -> Images:
        return self._parts.cluster.nodes.images

    @property
    def counts(self) -> PodCounts:
        return self._parts.cluster.counts

    @property
    def nodes_version(self) -> int:
        return self._parts.cluster.nodes.node_journal.position

    def unique_label(self, key: str) -> bool:
        return self._parts.cluster.nodes.labels.column(key).unique

    @property
    def waiting_pods(self) -> Mapping[str, WaitingPod]:
        return WaitingPods(self._parts.waiting)

    def activate(self, pods: Iterable[Pod]) -> None:
        pods = tuple(pods)
        for pod in pods:
            _must_be_pod(pod)
        self._parts.activate(pods, deciding=self._parts.deciding)

    @property
    def now(self) -> float:
        return self._parts.now

    def write(self, write: Write) -> None:
        check_write(write)
        self._parts.decided.append(write)

    def look_up(self, pod: Pod) -> None:
        _must_be_pod(pod)
        self._parts.decided.append(Look(pod))

    def report(self, pod: Pod, message: str) -> None:
        _must_be_pod(pod)
        wait = Wait(pod, UNSCHEDULABLE, _words(message))
        self._parts.decided.append(self._parts.words.said(wait, self._parts.now))

    def warn(self, pod: Pod, message: str) -> None:
        _must_be_pod(pod)
        meta = pod.metadata
        who = ObjectMeta(name=meta.name, namespace=meta.namespace, uid=meta.uid)
        about = Object(api_version="v1", kind="Pod", metadata=who, data={})
        self._parts.decided.append(Refuse(about, _words(message), pod.spec.scheduler_name))

    def evict(self, pod: Pod, reason: str, message: str) -> None:
        _must_be_pod(pod)
        reason, message = _words(reason), _words(message)
        placed = self._parts.cluster.pods.by_uid.get(pod.metadata.uid)
        if placed is not None:
            self._parts.decided.append(Evict(placed.pod, "", reason, message, node=placed.node))

    def give_up_nomination(self, pod: Pod) -> None:
        if self._parts.nominator.node_of(pod.metadata.uid):
            self._parts.nominator.remove(pod.metadata.uid)
            self._parts.decided.append(Nominate(pod, ""))

    def judged_outside(self, pod: Pod) -> bool:
        outside = self._parts.outside
        return outside is not None and outside.judge(pod)

    def lister(self, kind: str) -> ObjectsOfKind:
        if kind not in self.listed:
            check_listed(kind, self._reads)
            self.listed.add(kind)
        return self._parts.objects.of(kind)

    def book(self, kind: type[B], *arguments: Any) -> B:
        check_book(self._scope, kind)
        books = self._parts.cluster.books
        if books.to_come is None:
            raise BookError(f"the book {kind.name} is asked for by a plugin that is made already")
        book = books.of(kind, *arguments)
        self.books[kind.name] = book
        return book

    def touch(self, node_name: str) -> None:
        nodes = self._parts.cluster.nodes
        if (row := nodes.rows.get(node_name)) is not None:
            nodes.journal.write(row)
            if self._scope is Scope.STATIC:
                nodes.node_journal.write(row)
            self._parts.cluster.books.mark(self._plugin, node_name)

    def invalidate(self) -> None:
        self._parts.placer.forget()

    def nominated(self, node_name: str) -> list[Pod]:
        return self._parts.nominator.on(node_name)

    def nomination(self, pod: Pod) -> str:
        return self._parts.nominator.node_of(pod.metadata.uid) or pod.status.nominated_node_name

    def nominated_ahead(self, pod: Pod) -> Mapping[str, tuple[Pod, ...]]:
        return self._parts.nominator.ahead_of(pod)

    def trial(self, cycle: Cycle, pod: Pod, node_name: str) -> Trial:
        return NodeTrial(self._parts.placer, self._parts.search(cycle, pod), node_name)

    def demand(self, cycle: Cycle, pod: Pod) -> Demand | None:
        return demand_of(self._parts.placer, self._parts.search(cycle, pod))

    def preemption_is_judged(self, pod: Pod) -> bool:
        outside = self._parts.outside
        return outside is not None and outside.judge_preemption(pod)

    def may_evict(self, pod: Pod | None) -> Callable[[Pod], bool] | None:
        hooks = self._parts.hooks.profiles[self.profile].at("may_evict")
        if not hooks:
            return None

        def may(victim: Pod) -> bool:
            for name, method, _ in hooks:
                answer = answers.call(name, "may_evict", method, pod, victim)
                if not answers.yes(name, "may_evict", answer):
                    return False
            return True

        return may

    def register_selector(self, key: object, test: LabelTest) -> int:
        return self._parts.cluster.counts.register(key, test)

    def restore_reservations(
        self, cycle: Cycle, pod: Pod, matched: Iterable[Any], unmatched: Iterable[Any], node: NodeView
    ) -> dict[str, Any] | Status:
        profile = self._parts.hooks.profiles[self.profile]
        if not cycle.read(RESTORING, False):
            cycle.write(RESTORING, True)  # once per attempt, before the first node
            for name, method, _ in profile.at("pre_restore_reservation"):
                answer = answers.call(name, "pre_restore_reservation", method, cycle, pod)
                if (status := answers.status(name, "pre_restore_reservation", answer)) is not None:
                    return status
        restored: dict[str, Any] = {}
        for name, method, _ in profile.at("restore_reservation"):
            answer = answers.call(name, "restore_reservation", method, cycle, pod, matched, unmatched, node)
            if issubclass(type(answer), Status):
                if (status := answers.status(name, "restore_reservation", answer)) is not None:
                    return status
            elif answer is not None:
                restored[name] = answer
        return restored


def _must_be_pod(pod: object) -> None:
    if not answers.are_pods((pod,)):
        raise TypeError(f"{answers.shown(pod)} is no pod")


def _words(text: object) -> str:
    if type(text) is not str:
        raise TypeError(f"{answers.shown(text)} is no text")
    return clipped(text)
