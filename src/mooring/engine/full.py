"""Full evaluation: every filter and score over every candidate node, in the configured order.

Slower than the kept evaluation and able to answer everything: plugins that keep nothing, which plugin
rejected which node and why, scores per plugin. The two agree wherever both can answer.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from mooring.cluster.cluster import Cluster
from mooring.cluster.columns import Bools
from mooring.cluster.nodes import Ints
from mooring.cluster.view import ClusterView, NodeView
from mooring.engine.classes import PodClass
from mooring.framework import answers
from mooring.framework.answers import FILTER_CODES
from mooring.framework.cycle import Cycle
from mooring.framework.forms import Filter
from mooring.framework.session import Job, Session, Task
from mooring.framework.status import Code, Status, unschedulable
from mooring.model.objects import Pod

SESSION_PREDICATE = unschedulable("node(s) were rejected by a session predicate")
SESSION = "session"


class Scored(msgspec.Struct, frozen=True):
    """Totals over all rows, and each plugin's weighted part of them."""

    totals: Ints
    parts: dict[str, Ints]


class FullEvaluation:
    """Evaluates one pod on the cluster as it is."""

    def __init__(self, cluster: Cluster, view: ClusterView) -> None:
        self._cluster = cluster
        self._view = view

    def feasible(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, candidates: Bools, session: Session | None = None
    ) -> Bools:
        """Which candidates pass every filter."""
        if pod_class.profile.at("before_filter") or session:
            rows = np.flatnonzero(candidates).tolist()
            passed = [row for row in rows if self.status(pod_class, cycle, pod, row, session) is None]
            ok = np.zeros(len(candidates), np.bool_)
            ok[passed] = True
            return ok
        ok = candidates.copy()
        for form in _filters(pod_class, cycle):
            if not ok.any():
                break
            columns = form.columns(self._cluster.nodes, self._view)
            ok = form.many(cycle, form.shown(pod), columns, ok, self._cluster.nodes)
        return ok

    def statuses(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, candidates: Bools, session: Session | None = None
    ) -> dict[int, Status]:
        """Why candidates fail: the status of the first filter each does not pass."""
        found: dict[int, Status] = {}
        if pod_class.profile.at("before_filter") or session:
            for row in np.flatnonzero(candidates).tolist():
                if (status := self.status(pod_class, cycle, pod, row, session)) is not None:
                    found[row] = status
            return found
        left = candidates.copy()
        nodes = self._cluster.nodes
        for form in _filters(pod_class, cycle):
            shown = form.shown(pod)
            passed = form.many(cycle, shown, form.columns(nodes, self._view), left, nodes)
            rejected = np.flatnonzero(left & ~passed)
            statuses = form.statuses(cycle, shown, rejected, nodes, self._view)
            found.update(zip(rejected.tolist(), statuses, strict=True))
            left = passed
        return found

    def status(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, row: int, session: Session | None = None
    ) -> Status | None:
        """The status of one node: None when it passes every filter."""
        nodes = self._cluster.nodes
        node = self._view.view(row)
        for name, method, _ in pod_class.profile.at("before_filter"):
            answer = answers.call(name, "before_filter", method, cycle, pod, node)
            if isinstance(answer, Status):
                if (status := answers.status(name, "before_filter", answer, FILTER_CODES)) is not None:
                    return status
            elif answer is not None:
                if not _is_pod_and_node(answer):
                    what = f"returned {answer!r}, which is not a pod and a node"
                    raise answers.failed(name, "before_filter", what)
                pod, node = answer
        for form in _filters(pod_class, cycle):
            status = form.one(cycle, form.shown(pod), form.view(nodes, node), nodes, self._view)
            if status is not None:
                return status
        return self._predicate(pod, node, session) if session else None

    def pre_score(self, pod_class: PodClass, cycle: Cycle, pod: Pod, ok: Bools | None) -> None:
        """Runs pre_score; a plugin that skips there does not score. Those that keep their answers see no
        nodes; where all do (None), those that judge by domain say themselves whether they score."""
        hooks = [hook for hook in pod_class.pre_scores if ok is not None or hook.plugin.scope.kept]
        nodes: list[NodeView] = []
        if ok is not None and any(not hook.plugin.scope.kept for hook in hooks):
            nodes = [self._view.view(row) for row in np.flatnonzero(ok).tolist()]
        skipped = []
        for name, method, plugin in hooks:
            seen = () if plugin.scope.kept else nodes
            answer = answers.call(name, "pre_score", method, cycle, pod, seen)
            if answers.status(name, "pre_score", answer, {Code.SKIP}) is not None:
                skipped.append(name)
        cycle.skip_score = frozenset(skipped)

    def score(
        self, pod_class: PodClass, cycle: Cycle, pod: Pod, ok: Bools, session: Session | None = None
    ) -> Scored:
        """Totals of the feasible nodes; what stands for others means nothing."""
        nodes = self._cluster.nodes
        totals = np.zeros(len(ok), np.int64)
        parts: dict[str, Ints] = {}
        for scorer, weight in pod_class.scorers:
            if scorer.name in cycle.skip_score:
                continue
            columns = scorer.columns(nodes, self._view)
            scores = scorer.many(cycle, scorer.shown(pod), columns, ok, nodes)
            if scorer.raw:
                values = np.unique(scores[ok])
                final = np.array(scorer.normalized(values.tolist()), np.int64)
                normalized = np.zeros(len(ok), np.int64)
                normalized[ok] = final[np.searchsorted(values, scores[ok])]
                scores = normalized
            parts[scorer.name] = weight * scores
            totals += parts[scorer.name]
        if session and session.hooks.has("node_order"):
            parts[SESSION] = self._node_order(pod, ok, session)
            totals += parts[SESSION]
        return Scored(totals, parts)

    def _predicate(self, pod: Pod, node: NodeView, session: Session) -> Status | None:
        answer = answers.call(
            SESSION, "filter", session.hooks.ask, "predicate", Task(pod), session.jobs[0], node
        )
        if isinstance(answer, Status):
            return answer if answer.plugin else answer.by(SESSION)
        return None if answer is None else SESSION_PREDICATE.by(SESSION)

    def _node_order(self, pod: Pod, ok: Bools, session: Session) -> Ints:
        order = np.zeros(len(ok), np.int64)
        for row in np.flatnonzero(ok).tolist():
            view = self._view.view(row)
            score = answers.call(SESSION, "score", session.hooks.ask, "node_order", Task(pod), view)
            order[row] = answers.score(SESSION, score, raw=True)
        return order


def session_of(view: ClusterView, pod: Pod, now: float) -> Session:
    """A pod at a time is a session with one job of one task."""
    return Session(view, (Job(pod.key, (Task(pod),)),), now)


def _is_pod_and_node(answer: Any) -> bool:
    if not (isinstance(answer, tuple) and len(answer) == 2):
        return False
    return isinstance(answer[0], Pod) and isinstance(answer[1], NodeView)


def _filters(pod_class: PodClass, cycle: Cycle) -> list[Filter]:
    return [form for form in pod_class.filters if form.name not in cycle.skip_filter]


def rows_mask(high: int, rows: Any) -> Bools:
    """True for the given rows."""
    mask = np.zeros(high, np.bool_)
    mask[list(rows)] = True
    return mask
