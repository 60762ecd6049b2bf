"""NodeAffinity: a pod goes only where its node selector and node affinity let it, and where they prefer.

A configuration can add an affinity of its own to every pod. A required term that cannot be read matches
no node; a preferred one is an error.

Pods of a DaemonSet differ in nothing but the node each names by `matchFields`. Names that all terms
agree on are left to `pre_filter`, which narrows the nodes down to them; neither the signature nor the
filter looks at them, so all pods of a DaemonSet are alike.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from mooring.cluster.column import Ints
from mooring.cluster.columns import Bools, StaticColumns
from mooring.cluster.view import StaticNode
from mooring.framework.api.answers import Rejections, failed
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import NODE, Action, Hint, Interest
from mooring.framework.api.handle import Handle
from mooring.framework.api.normalize import maximum
from mooring.framework.api.plugin import Plugin, PluginArgs, reads_spec_only
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import SKIP, Status, error, unresolvable
from mooring.model import objects
from mooring.model.objects import Node, Pod
from mooring.model.selectors import (
    NodeTerm,
    node_term,
    preferred_terms,
)
from mooring.plugins.kept import PerSpec
from mooring.plugins.node_terms import AnyTerm, weighed
from mooring.plugins.wanted_nodes import readable_terms, wanted_nodes

NOT_POD = "node(s) didn't match Pod's node affinity/selector"
NOT_ENFORCED = "node(s) didn't match scheduler-enforced node affinity"
CONFLICT = "pod affinity terms conflict"


class NodeAffinityArgs(PluginArgs, frozen=True):
    """`addedAffinity` holds for every pod, beside its own."""

    added_affinity: objects.NodeAffinity | None = None

    def __post_init__(self) -> None:
        """A SelectorError says which term cannot be read."""
        added = self.added_affinity or objects.NodeAffinity()
        required = added.required_during_scheduling_ignored_during_execution
        for term in required.node_selector_terms if required else ():
            node_term(term)
        preferred_terms(added.preferred_during_scheduling_ignored_during_execution)


class NodeAffinity(Plugin):
    name = "NodeAffinity"
    scope = Scope.STATIC
    Args = NodeAffinityArgs
    normalize = staticmethod(maximum)

    not_pod = unresolvable(NOT_POD).by(name)
    not_enforced = unresolvable(NOT_ENFORCED).by(name)

    def __init__(self, args: NodeAffinityArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._wanted = PerSpec(wanted_nodes)
        added = args.added_affinity or objects.NodeAffinity()
        required = added.required_during_scheduling_ignored_during_execution
        terms = None if required is None else readable_terms(required.node_selector_terms)
        self._enforced = None if terms is None else AnyTerm(terms)
        self._added = preferred_terms(added.preferred_during_scheduling_ignored_during_execution)

    @reads_spec_only
    def sign(self, pod: Pod) -> Hashable:
        wanted = self._wanted.of(pod.spec)
        if not wanted and self._enforced is None and not self._added:
            return None
        names = "named one by one" if wanted.left_to_narrowing else wanted.names
        return wanted.labels, wanted.terms, names, wanted.preferred, wanted.mistake

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Status | frozenset[str] | None:
        wanted = self._wanted.of(pod.spec)
        if not wanted.requires and self._enforced is None:
            return SKIP
        if wanted.names is not None and not wanted.names:
            return unresolvable(CONFLICT)
        return wanted.names

    def filter(self, cycle: Cycle, pod: Pod, node: StaticNode) -> Status | None:
        name, labels = node.name, node.labels
        if self._enforced is not None and not self._enforced.matches(name, labels):
            return self.not_enforced
        wanted = self._wanted.of(pod.spec)
        for key, value in wanted.labels:
            if labels.get(key) != value:
                return self.not_pod
        return None if wanted.any_term is None or wanted.any_term.matches(name, labels) else self.not_pod

    def filter_nodes(self, cycle: Cycle, pod: Pod, nodes: StaticColumns) -> Bools:
        wanted = self._wanted.of(pod.spec)
        matching = _any_match(self._enforced, nodes) & _any_match(wanted.any_term, nodes)
        for key, value in wanted.labels:
            if not nodes.known_label(key):
                return np.zeros(len(nodes), np.bool_)
            matching &= nodes.with_label(key, (value,))
        return matching

    def statuses_of(self, cycle: Cycle, pod: Pod, nodes: StaticColumns) -> Rejections:
        """Why these nodes, which are rejected, are."""
        if self._enforced is None:
            return Rejections((self.not_pod,), np.zeros(len(nodes), np.intp))
        mine, which = np.unique(self._enforced.over(nodes), return_inverse=True)
        statuses = (self.not_enforced, self.not_pod)
        return Rejections(tuple(statuses[each] for each in mine.tolist()), which)

    def pre_score(self, cycle: Cycle, pod: Pod, nodes: object) -> Status | None:
        wanted = self._wanted.of(pod.spec)
        if wanted.mistake:
            return error(wanted.mistake)
        return None if wanted.prefers or self._added else SKIP

    def score(self, cycle: Cycle, pod: Pod, node: StaticNode) -> int:
        name, labels = node.name, node.labels
        return sum(weight for weight, term in self._terms(pod) if term.matches(name, labels))

    def score_nodes(self, cycle: Cycle, pod: Pod, nodes: StaticColumns) -> Ints:
        return weighed(self._terms(pod), nodes)

    def events(self) -> tuple[Interest, ...]:
        return (Interest(NODE, Action.ADD | Action.UPDATE_NODE_LABEL, self.now_matches),)

    def now_matches(self, pod: Pod, old: Node | None, new: Node) -> Hint:
        """The pod may go to the node now, and might not before."""
        enforced = self._enforced
        if enforced is not None and not enforced.matches(new.name, new.labels):
            return Hint.SKIP
        wanted = self._wanted.of(pod.spec)
        matched = False if old is None else wanted.accepts(old.name, old.labels)
        matches = wanted.accepts(new.name, new.labels)
        if matched is None or matches is None:
            return Hint.QUEUE  # who cannot tell lets the pod try
        return Hint.QUEUE if matches and not matched else Hint.SKIP

    def _terms(self, pod: Pod) -> tuple[tuple[int, NodeTerm], ...]:
        wanted = self._wanted.of(pod.spec)
        if wanted.mistake:
            raise failed(self.name, "score", wanted.mistake)
        return self._added + wanted.preferred


def _any_match(terms: AnyTerm | None, nodes: StaticColumns) -> Bools:
    """Some term holds; without a list of terms every node will do."""
    return np.ones(len(nodes), np.bool_) if terms is None else terms.over(nodes)
