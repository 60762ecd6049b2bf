"""What PodTopologySpread knows of all nodes for one class of pods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Self

from mooring.cluster.counts import RowCounts
from mooring.cluster.view import NodeView
from mooring.framework.domain import DomainState, Key
from mooring.framework.status import Status, unresolvable, unschedulable
from mooring.model.objects import Pod
from mooring.model.selectors import required_node_affinity_matches
from mooring.model.taints import first_untolerated
from mooring.plugins.topology.constraints import HOSTNAME, Constraint
from mooring.plugins.topology.go_math import half_away, log
from mooring.plugins.topology.sums import MISSING, Counted, DomainSums

SKEWED = unschedulable("node(s) didn't match pod topology spread constraints")
NO_LABEL = unresolvable("node(s) didn't match pod topology spread constraints (missing required label)")
IGNORED = -1  # the raw score of a node that lacks a key the pod's own constraints name

Counting = Callable[[Constraint], RowCounts]  # the matching pods of a constraint, per row


class SpreadState(DomainState):
    """Hard constraints reject, soft ones score. A row's key is its tokens for both."""

    def __init__(
        self,
        pod: Pod,
        constraints: Sequence[Constraint],
        counting: Counting,
        unique: Mapping[str, bool],
        *,
        needs_all_keys: bool,
        comparisons: bool = False,
    ) -> None:
        self._hard = [c for c in constraints if c.hard]
        self._soft = [c for c in constraints if not c.hard]
        self.filters, self.scores = bool(self._hard), bool(self._soft)
        self._needs_all_keys = needs_all_keys
        self._unique = unique
        self._adds = [int(c.selects(pod.labels)) for c in self._hard]
        hard_keys = [c.key for c in self._hard]
        soft_keys = [c.key for c in self._soft] if needs_all_keys else []
        self._soft_counts = [counting(c) for c in self._soft]
        self._hard_sums = [
            DomainSums(c.key, counting(c).on, _counted(pod, c, hard_keys, comparisons), unique=unique[c.key])
            for c in self._hard
        ]
        self._soft_sums = [
            DomainSums(c.key, counts.on, _counted(pod, c, soft_keys, comparisons), unique=unique[c.key])
            for c, counts in zip(self._soft, self._soft_counts, strict=True)
        ]

    def update(self, row: int, node: NodeView | None) -> Key:
        hard = tuple(sums.update(row, node) for sums in self._hard_sums)
        soft: list[object] = []
        for constraint, sums, counts in zip(self._soft, self._soft_sums, self._soft_counts, strict=True):
            if constraint.key == HOSTNAME:  # counted on the node itself, whatever else is excluded
                has = node is not None and HOSTNAME in node.labels
                soft.append(counts.on(row) if has else MISSING)
            else:
                soft.append(sums.update(row, node))
        return hard, tuple(soft)

    def update_all(self, rows: Sequence[int], nodes: Sequence[NodeView | None]) -> list[Key]:
        hard = [sums.update_all(rows, nodes) for sums in self._hard_sums]
        soft: list[list[object]] = []
        for constraint, sums, counts in zip(self._soft, self._soft_sums, self._soft_counts, strict=True):
            if constraint.key == HOSTNAME:
                named = [node is not None and HOSTNAME in node.labels for node in nodes]
                soft.append([counts.on(r) if has else MISSING for r, has in zip(rows, named, strict=True)])
            else:
                soft.append(sums.update_all(rows, nodes))
        nothing: list[tuple[object, ...]] = [()] * len(rows)
        hard_tokens = list(zip(*hard, strict=True)) if hard else nothing
        soft_tokens = list(zip(*soft, strict=True)) if soft else nothing
        return list(zip(hard_tokens, soft_tokens, strict=True))

    def status(self, key: Key) -> Status | None:
        tokens: tuple[object, ...] = key[0]  # type: ignore[index]
        for constraint, sums, adds, token in zip(
            self._hard, self._hard_sums, self._adds, tokens, strict=True
        ):
            if token is MISSING:
                return NO_LABEL
            if not sums.domains:
                continue
            least = 0 if sums.domains < constraint.min_domains else sums.smallest
            if sums.of(token) + adds - least > constraint.max_skew:
                return SKEWED
        return None

    def rows_that_matter(self) -> set[int]:
        return {row for sums in self._hard_sums for row in sums.rows_with_some()}

    def raw_scores(self, keys: Sequence[Key], sizes: Sequence[int]) -> list[int]:
        rows: list[tuple[object, ...]] = [key[1] for key in keys]  # type: ignore[index]
        ignored = [self._needs_all_keys and MISSING in tokens for tokens in rows]
        kept = [(t, size) for t, size, skip in zip(rows, sizes, ignored, strict=True) if not skip]
        weights = [log(self._size(number, kept) + 2) for number in range(len(self._soft))]
        return [
            IGNORED if skip else self._raw(tokens, weights)
            for tokens, skip in zip(rows, ignored, strict=True)
        ]

    def clone(self) -> Self:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._hard_sums = [sums.clone() for sums in self._hard_sums]
        copy._soft_sums = [sums.clone() for sums in self._soft_sums]
        return copy

    def _size(self, number: int, kept: Sequence[tuple[tuple[object, ...], int]]) -> int:
        """How many domains the feasible nodes are in. Nodes that lack the key count as one together."""
        key = self._soft[number].key
        if key == HOSTNAME:
            return sum(size for _, size in kept)
        if not self._unique[key]:
            return len({tokens[number] for tokens, _ in kept})
        missing = any(tokens[number] is MISSING for tokens, _ in kept)
        return missing + sum(size for tokens, size in kept if tokens[number] is not MISSING)

    def _raw(self, tokens: Sequence[object], weights: Sequence[float]) -> int:
        score = 0.0
        for constraint, sums, token, weight in zip(self._soft, self._soft_sums, tokens, weights, strict=True):
            if token is not MISSING:
                score += sums.of(token) * weight + (constraint.max_skew - 1)
        return half_away(score)


def _counted(pod: Pod, constraint: Constraint, keys: Sequence[str], comparisons: bool) -> Counted:
    """Which nodes take part in a constraint. `comparisons` switches Gt and Lt of tolerations on."""
    spec = pod.spec
    selective = constraint.honors_affinity and bool(spec.node_selector or spec.affinity)

    def counted(node: NodeView) -> bool:
        labels = node.labels
        if any(key not in labels for key in keys):
            return False
        if selective and not required_node_affinity_matches(spec, node.name, labels):
            return False
        if not constraint.honors_taints:
            return True
        return first_untolerated(node.taints, spec.tolerations, comparison_operators=comparisons) is None

    return counted
