"""InterPodAffinity: places pods near, or away from, other pods, in both directions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Annotated, Any

import msgspec

from mooring.cluster.row_counts import RowCounts
from mooring.cluster.view import NodeView
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.domain import DomainPlugin
from mooring.framework.api.events import NODE, POD, Action, Hint, Interest
from mooring.framework.api.handle import Handle
from mooring.framework.api.normalize import minimum_maximum
from mooring.framework.api.plugin import PluginArgs
from mooring.framework.api.status import Status, unresolvable
from mooring.model.objects import Node, Object, Pod
from mooring.plugins.kept import Sign
from mooring.plugins.topology.carried import NOTHING_AGAINST, Against, Carried, CarriedIndex
from mooring.plugins.topology.interpod_state import Counted, InterPodState, Weighed
from mooring.plugins.topology.members import Memberships
from mooring.plugins.topology.terms import NO_TERMS, Term, Terms

REMEMBERED = 1024
NAME_LABEL = "kubernetes.io/metadata.name"
AFFINITY, ANTI_AFFINITY = "affinity", "anti-affinity"  # kinds of carried terms, besides weights


class InterPodAffinityArgs(PluginArgs, frozen=True):
    hard_pod_affinity_weight: Annotated[int, msgspec.Meta(ge=0, le=100)] = 1
    ignore_preferred_terms_of_existing_pods: bool = False


class Known(msgspec.Struct, eq=False):
    """The terms of pods like this one, and what of their signature stays the same."""

    pod: Pod
    terms: Terms
    keys: frozenset[str]
    mistake: str  # in one of them
    carried: tuple[Carried, ...]  # what such a pod holds against others, once it is placed
    # Terms that mean their own pods: nobody may carry them yet, and from the first one placed somebody does.
    # They count from the start, so that the first pod is of the same class as the others.
    against_itself: tuple[Carried, ...] = ()
    sign: Sign | None = None
    beside: Beside | None = None  # the last it was asked for


class Beside(msgspec.Struct, frozen=True, eq=False):
    """What a signature says beside the pod's own part, as long as placed pods hold the same against it."""

    against: Against
    sign: Sign  # the terms they hold, but for the pod's own
    keys: tuple[str, ...]


class InterPodAffinity(DomainPlugin):
    name = "InterPodAffinity"
    Args = InterPodAffinityArgs
    reads = ("Namespace",)
    normalize = staticmethod(minimum_maximum)

    def __init__(self, args: InterPodAffinityArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._known: dict[Hashable, Known] = {}
        self._last: tuple[Pod, Known | None] | None = None  # a pod is asked about several times in a row
        self._matching: dict[Hashable, Against] = {}
        self._matching_version: Hashable = None
        self._index = CarriedIndex()
        self._namespaces = handle.lister("Namespace")
        self._namespaces_seen = -1
        self._namespaces_changed: set[str] = set()  # since then
        self._carried: dict[Any, RowCounts] = handle.counts.carrier(self.name, self._carries)

    def sign(self, pod: Pod) -> Hashable:
        if pod.spec.affinity is None and not self._carried:
            return None
        self._follow_namespaces()
        known, against = self._known_of(pod), self._against(pod)
        if known is None:
            if not against.carried:
                return None
            return None, against.sign, self._uniqueness(against.keys), ""
        if known.sign is None:
            known.sign = Sign(self._own_sign(pod, known.terms))
        beside = known.beside
        if beside is None or beside.against is not against:
            beside = known.beside = _beside(known, against)
        return known.sign, beside.sign, self._uniqueness(beside.keys), known.mistake

    def _uniqueness(self, keys: tuple[str, ...]) -> Hashable:
        unique = self.handle.unique_label
        return tuple([(key, unique(key)) for key in keys])

    def _own_sign(self, pod: Pod, terms: Terms) -> Hashable:
        """What the pod asks for itself. Who it asks for is known before the pod's class is, which says whom
        the pod is asked for by."""
        self._near(terms)
        for term in (*terms.anti_affinity, *(weighted.term for weighted in terms.preferred)):
            self._pods(term)
        return (
            tuple(term.ident for term in terms.affinity),
            tuple(term.ident for term in terms.anti_affinity),
            tuple((weighted.weight, weighted.term.ident) for weighted in terms.preferred),
            all(term.matches_pod(pod) for term in terms.affinity),
        )

    def pre_filters(self, sign: Any) -> bool:
        return bool(sign[3])  # a mistake

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Status | None:
        known = self._known_of(pod)
        return unresolvable(f"parsing pod: {known.mistake}") if known is not None and known.mistake else None

    def domain(self, cycle: Cycle, pod: Pod) -> InterPodState:
        known, carried = self._known_of(pod), self._carried_against(pod)
        terms = NO_TERMS if known is None else known.terms
        if known is not None and known.against_itself:
            mine = known.against_itself
            carried = (*mine, *(each for each in carried if each not in mine))
            for each in mine:
                self._carried.setdefault(each, RowCounts())
        return InterPodState(
            self.handle.unique_label,
            self.handle.cluster.shared(Memberships),
            near=self._near(terms),
            apart=[(term.key, self._pods(term)) for term in terms.anti_affinity],
            kept_away=[(term, self._carried[kind, term]) for kind, term in carried if kind == ANTI_AFFINITY],
            weighed=self._weighed(terms, carried),
            starts_its_own=all(term.matches_pod(pod) for term in terms.affinity),
        )

    def add_pod(self, cycle: Cycle, pod: Pod, added: Pod, node: NodeView) -> None:
        """A pod tried on a node may hold a term against the pod that nobody has held so far."""
        state: InterPodState | None = cycle.read(self.state_key(), None)
        if state is None or not state.filters:
            return
        for term in self._terms(added).anti_affinity:
            if term.matches_pod(pod) and term not in state.kept_away:
                state.keep_away(term, self._carried[ANTI_AFFINITY, term])

    def _near(self, terms: Terms) -> list[Counted]:
        """A pod counts for affinity only if it is meant by every term."""
        wanted = terms.affinity
        if not wanted:
            return []
        key = ("pods of every term", frozenset(term.ident for term in wanted))
        counts = self.handle.counts.selector(
            key,
            lambda namespace, labels: all(term.matches(namespace, labels) for term in wanted),
            next((term.needs for term in wanted if term.needs), None),
        )
        return [(term.key, counts) for term in wanted]

    def _weighed(self, terms: Terms, carried: tuple[Carried, ...]) -> list[Weighed]:
        if self.args.ignore_preferred_terms_of_existing_pods and not terms.preferred:
            return []
        weighed: list[Weighed] = [
            (weighted.weight, weighted.term.key, self._pods(weighted.term)) for weighted in terms.preferred
        ]
        for kind, term in carried:
            weight = self.args.hard_pod_affinity_weight if kind == AFFINITY else kind
            if isinstance(weight, int) and weight:
                weighed.append((weight, term.key, self._carried[kind, term]))
        return weighed

    def _pods(self, term: Term) -> RowCounts:
        """Pods a term means, per row."""
        key = ("pods of a term", term.ident)
        return self.handle.counts.selector(key, term.matches, term.needs)

    # terms

    def _terms(self, pod: Pod) -> Terms:
        known = self._known_of(pod)
        return NO_TERMS if known is None else known.terms

    def _known_of(self, pod: Pod) -> Known | None:
        """The terms of a pod; None when it has none."""
        affinity = pod.spec.affinity
        if affinity is None or not (affinity.pod_affinity or affinity.pod_anti_affinity):
            return None
        if self._last is not None and self._last[0] is pod:
            return self._last[1]
        key = (id(affinity), pod.namespace, tuple(pod.labels.items()))
        known = self._known.get(key)
        if known is None or known.pod.spec.affinity is not affinity:
            if len(self._known) > REMEMBERED:
                self._known.clear()
            known = self._known[key] = self._worked_out(pod)
        self._last = (pod, known if known.terms else None)
        return self._last[1]

    def _worked_out(self, pod: Pod) -> Known:
        terms = Terms.of(pod, self._namespace_labels)
        every, carried = terms.all(), _carried_by(terms)
        mine = tuple(
            (kind, term) for kind, term in carried if self._makes_a_difference(kind) and term.matches_pod(pod)
        )
        mistake = next((term.mistake for term in every if term.mistake), "")
        return Known(pod, terms, frozenset(term.key for term in every), mistake, carried, mine)

    def _carries(self, pod: Pod) -> tuple[Carried, ...]:
        """The terms a placed pod holds against those that come after it."""
        if pod.spec.affinity is None:
            return ()
        known = self._known_of(pod)
        return () if known is None else known.carried

    def _carried_against(self, pod: Pod) -> tuple[Carried, ...]:
        return self._against(pod).carried

    def _against(self, pod: Pod) -> Against:
        """Terms of placed pods that mean this pod, of the kinds that make a difference."""
        if not self._carried:
            return NOTHING_AGAINST
        version = (self.handle.counts.version, self._namespaces_seen)
        if version != self._matching_version or len(self._matching) > REMEMBERED:
            self._matching_version = version
            self._matching.clear()
        key = (pod.namespace, tuple(pod.labels.items()))
        known = self._matching.get(key)
        if known is None:
            self._index.follow(self._carried, self.handle.counts.recounts)
            found = [
                (kind, term)
                for kind, term in self._index.asking(pod.labels)
                if self._carried[kind, term].total
                and self._makes_a_difference(kind)
                and term.matches_pod(pod)
            ]
            known = self._matching[key] = Against.of(tuple(found))
        return known

    def _makes_a_difference(self, kind: Hashable) -> bool:
        if kind == AFFINITY:
            return bool(self.args.hard_pod_affinity_weight)
        return kind == ANTI_AFFINITY or not self.args.ignore_preferred_terms_of_existing_pods

    # namespaces

    def _namespace_labels(self, name: str) -> Mapping[str, str]:
        found = self._namespaces.get(name)
        labels = found.metadata.labels if found else {}
        return {NAME_LABEL: name, **labels}

    def _follow_namespaces(self) -> None:
        """Counts anew when namespaces changed and some term selects by their labels, whichever plugin asked:
        counts outlive who asked for them."""
        version = self._namespaces.version
        if version == self._namespaces_seen:
            return
        self._namespaces_seen = version
        changed, self._namespaces_changed = self._namespaces_changed, set()
        if self.handle.counts.recount(changed):
            self.handle.invalidate()

    def object_seen(self, before: Object | None, found: Object | None) -> None:
        """Terms may select pods by the labels of their namespace."""
        changed = found or before
        if changed is not None and changed.kind == "Namespace":
            self._namespaces_changed.add(changed.metadata.name)

    # hints

    def events(self) -> list[Interest]:
        pods = Action.ADD | Action.UPDATE_POD_LABEL | Action.DELETE
        nodes = Action.ADD | Action.UPDATE_NODE_LABEL
        return [Interest(POD, pods, self._pod_hint), Interest(NODE, nodes, self._node_hint)]

    def _pod_hint(self, pod: Pod, old: Pod | None, new: Pod | None) -> Hint:
        """A pod that the terms mean came or went, or one whose own terms meant this pod went."""
        changed = new or old
        assert changed is not None
        if changed.uid == pod.uid:
            return Hint.QUEUE
        if not (changed.spec.node_name or changed.status.nominated_node_name):
            return Hint.SKIP
        terms = self._terms(pod)
        meant = [side is not None and _all_match(terms.affinity, side) for side in (old, new)]
        if meant[1] and not meant[0]:
            return Hint.QUEUE
        apart = [side is not None and _any_matches(terms.anti_affinity, side) for side in (old, new)]
        if apart[0] and not apart[1]:
            return Hint.QUEUE
        if new is None and _any_matches(self._terms(changed).anti_affinity, pod):
            return Hint.QUEUE
        return Hint.SKIP

    def _node_hint(self, pod: Pod, old: Node | None, new: Node) -> Hint:
        """A node's topology keys appeared, went, or have other values. A new node without the key of
        an affinity term cannot take the pod; without that of an anti-affinity term it can."""
        terms = self._terms(pod)
        near = {term.key for term in terms.affinity}
        apart = {term.key for term in terms.anti_affinity}
        apart |= {term.key for kind, term in self._carried_against(pod) if kind == ANTI_AFFINITY}
        if old is None:
            helps = any(key in new.labels for key in near) if near else True
        else:
            before, now = old.labels, new.labels
            helps = any(key in now and before.get(key) != now[key] for key in near)
            helps = helps or any(before.get(key) != now.get(key) for key in apart)
        return Hint.QUEUE if helps else Hint.SKIP


def _beside(known: Known, against: Against) -> Beside:
    mine = {(kind, term.ident) for kind, term in known.against_itself}
    others = [(kind, term.ident) for kind, term in against.carried]
    sign = Sign(tuple([each for each in others if each not in mine]))
    return Beside(against, sign, tuple(sorted({*known.keys, *against.keys})))


def _carried_by(terms: Terms) -> tuple[Carried, ...]:
    return (
        *((AFFINITY, term) for term in terms.affinity),
        *((ANTI_AFFINITY, term) for term in terms.anti_affinity),
        *((weighted.weight, weighted.term) for weighted in terms.preferred),
    )


def _all_match(terms: tuple[Term, ...], pod: Pod) -> bool:
    return bool(terms) and all(term.matches_pod(pod) for term in terms)


def _any_matches(terms: tuple[Term, ...], pod: Pod) -> bool:
    return any(term.matches_pod(pod) for term in terms)
