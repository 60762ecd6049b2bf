"""The kept evaluation of one class: exactly what evaluating every node afresh would give.

Pods change a node's row; the journal names the row; only that row is evaluated again. So a decision
costs the same in a cluster of a hundred nodes and of fifty thousand. What is known is held as arrays
(`Flat`), for a class that is busy in buckets (`Buckets`); of many classes at a time the arrays lie
together in a `Matrix`, which keeps them up to date for all at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.cluster import Cluster
from mooring.cluster.column import Ints
from mooring.cluster.view import ClusterView
from mooring.engine.placement.kept.additions import Additions
from mooring.engine.placement.kept.buckets import Bases, Buckets, Raws
from mooring.engine.placement.kept.coding import distinct
from mooring.engine.placement.kept.domains import Domains
from mooring.engine.placement.kept.flat import Flat
from mooring.engine.placement.kept.forms import Forms
from mooring.engine.placement.kept.matrix import Matrix
from mooring.engine.placement.kept.rows import RowForms
from mooring.engine.placement.kept.static import FEW_ROWS, StaticPart
from mooring.errors import PluginFailed
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle

FLAT_BYTES = 6  # a row in arrays: a base, and the number of a group
OWN_BYTES = 32_768  # about what there is besides, however few rows there are: class, forms, states
BUCKET_BYTES = 160  # a row in buckets: three lists, a bucket, and the numbers in them


class KeptEvaluation:
    """Feasible nodes of a class with their totals, kept up to date."""

    def __init__(
        self,
        cluster: Cluster,
        view: ClusterView,
        static: StaticPart,
        static_forms: Forms,
        forms: Forms,
        domain_forms: Forms,
        kind: np.dtype[Any],
    ) -> None:
        self._cluster = cluster
        self.static = static
        self.row_forms = forms
        self.kind = kind  # of bases
        self._rows = RowForms(cluster, view, static, forms, kind)
        # Raws of a row: the static scores first, then those of row scope, then keys of domains.
        normalized = (*static_forms.raw, *forms.raw)
        self.domains = Domains(domain_forms, len(normalized), cluster, view)
        self._addition = Additions(normalized, self.domains, {} if forms.raw else static_forms.lone)
        self._by_domain = bool(self.domains)  # whether there are any
        self.skips: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
        self._position = -1  # of the journal, up to which all is taken in
        self._node_position = -1
        self._generation = -1
        self._changing = forms.changing
        self._versions: tuple[Hashable, ...] = ()
        self._domains_version: Hashable = None
        self.index: Buckets | Flat = Buckets(0, self._addition)
        self._matrix: Matrix | None = None  # to hold the arrays in, if they are held as such
        self.sorted = False  # whether to hold it in buckets
        self.can_be_sorted = True
        self.slot: int | None = None  # its place there
        self._in_step = False  # the matrix keeps the bases up to date
        self.used = 0  # times
        self.pod: Any = None  # the last one it was asked about

    @property
    def can_share(self) -> bool:
        """Whether the plugins allow for a place in a matrix."""
        return not self._changing and self.row_forms.over_pods

    @property
    def nbytes(self) -> int:
        if isinstance(self.index, Flat):
            return OWN_BYTES + self.index.nbytes + self._rows.nbytes
        if self._position < 0:
            return OWN_BYTES + FLAT_BYTES * self._cluster.nodes.capacity  # as it will be
        return OWN_BYTES + BUCKET_BYTES * len(self.index.group_of) + self._rows.nbytes

    def sync(self, cycle: Cycle, pod: Any) -> Buckets | Flat:
        """Re-evaluates what changed since the last time. A plugin that fails spoils the whole: start over."""
        nodes, static = self._cluster.nodes, self.static
        self.pod = pod
        try:
            if self._node_position != nodes.node_journal.position or not static.follows_nodes_alone:
                static.sync(cycle, pod)
            if self._changing:
                self._follow_versions()
            if self.slot is not None and self._matrix is not None:
                self._matrix.catch_up(self.slot)
            if self._position < 0 or self._generation != static.generation or not self._repair(cycle, pod):
                self._build(cycle, pod)
            if self.sorted and isinstance(self.index, Flat):
                self._sort(self.index)
        except PluginFailed:
            self.start_over()
            raise
        self._position, self._node_position = nodes.journal.position, nodes.node_journal.position
        if self._by_domain:
            version, before = self.domains.version, self._domains_version
            if version is None or (version is not before and answers.moved(before, version)):
                self.index.outdated()
                self._domains_version = version
        return self.index

    def _follow_versions(self) -> None:
        """Starts over when a plugin says that something outside nodes and pods has changed."""
        versions = tuple(answers.version(p.name, p) for p in self._changing)
        if answers.moved(self._versions, versions):
            self._position, self._versions = -1, versions

    # as a whole

    def _build(self, cycle: Cycle, pod: Any) -> None:
        nodes, static = self._cluster.nodes, self.static
        high = nodes.high
        if self._by_domain:
            self.domains.start(cycle, pod)
        bases = self._room(pod)
        raws: list[Ints] = []
        if self.slot is not None and self._matrix is not None and (alike := self._matrix.alike()) is not None:
            self._matrix.know(self.slot, self._rows.by_number(cycle, pod, alike, bases))
        else:
            raws = self._rows.all(cycle, pod, bases)
        numbered = self.domains.numbered() if self._by_domain else []
        codes, groups, lent = static.codes, static.groups, True
        if raws or numbered:
            columns: list[NDArray[Any]] = [static.codes[:high], *raws]
            columns += [numbers[:high] for numbers, _ in numbered]
            found, first = distinct(columns, high)
            groups = [
                static.groups[static.codes[row]]
                + tuple(int(raw[row]) for raw in raws)
                + tuple(keys[numbers[row]] for numbers, keys in numbered)
                for row in first
            ] or [()]
            codes, lent = np.zeros(nodes.capacity, np.int32), False
            codes[:high] = found
        self.index = Flat(
            bases,
            codes,
            groups or [()],
            self._addition,
            self._addition.columns,
            lent=lent,
            sized=self._by_domain,
        )
        self._generation = static.generation

    def _room(self, pod: Any) -> Bases:
        """Where the bases are to lie: in the matrix, if there is one that has a place."""
        matrix = self._matrix
        if matrix is not None and self.slot is None and not self.sorted and self.domains.follows:
            self.slot = matrix.join(self, pod)
        self._in_step = self.slot is not None
        if matrix is None or self.slot is None:
            return np.empty(self._cluster.nodes.capacity, self.kind)
        return matrix.base_of(self.slot)

    def _sort(self, flat: Flat) -> None:
        """From arrays to buckets."""
        columns, sized = self._addition.columns, self._by_domain
        self.index = Buckets.of(flat.base, flat.codes, flat.groups, self._addition, columns, sized=sized)
        self.leave()

    def leave(self) -> None:
        """Gives the place in a matrix up, if it has one: the arrays in it are not used any more."""
        if self.slot is not None and self._matrix is not None:
            self._matrix.leave(self.slot)
        self.slot, self._in_step = None, False

    def hold(self, in_buckets: bool, matrix: Matrix | None) -> None:
        """How to hold it from the next time on."""
        if (matrix is not self._matrix and self.slot is not None) or (self.sorted and not in_buckets):
            self.start_over()
        self._matrix, self.sorted = matrix, in_buckets

    def start_over(self) -> None:
        """What is known is of no use any more."""
        self.leave()
        self.index, self._position = Buckets(0, self._addition), -1

    # what a matrix tells

    def fall_behind(self, position: int) -> None:
        """The matrix has kept it up to date until then, and does not from then on."""
        if self._in_step:
            self._position, self._in_step = max(self._position, position), False

    def moved(self, base: Bases) -> None:
        """Its place is here now."""
        assert isinstance(self.index, Flat)
        self.index.put_at(base)

    def flipped(self, row: int) -> None:
        """A row is feasible that was not, or the other way round."""
        assert isinstance(self.index, Flat)
        self.index.flipped(row)

    # row by row

    def _repair(self, cycle: Cycle, pod: Any) -> bool:
        """Takes in what changed; False when starting over is quicker."""
        nodes = self._cluster.nodes
        node_rows: Collection[int] = ()
        if self._node_position != nodes.node_journal.position:
            changed = nodes.node_journal.since(self._node_position)
            if changed is None:
                return False
            node_rows = set(changed)
        rows: Collection[int] = node_rows
        if not self._in_step:
            since = nodes.journal.since(self._position)
            if since is None:
                return False
            rows = since
        if len(rows) > 1:
            rows = set(rows)
            if len(rows) > FEW_ROWS and len(rows) >= nodes.high // 2:
                return False
        moved: Collection[int] = self.domains.sync(rows) if self._by_domain else ()
        index = self.index
        if isinstance(index, Flat) and not self._rows.raw:
            if rows:
                self._rebase(cycle, pod, index, rows)
            for row in {*moved, *node_rows} if node_rows else moved:
                index.regroup(row, self.static.raws(row) + self.domains.keys(row))
            self._in_step = self.slot is not None
        else:
            self._put(cycle, pod, {*rows, *moved} if moved else rows)
        return True

    def _rebase(self, cycle: Cycle, pod: Any, index: Flat, rows: Collection[int]) -> None:
        """New bases for rows; their groups are another matter."""
        if len(rows) > FEW_ROWS:
            numbers = np.fromiter(rows, np.intp, len(rows))
            index.write(numbers, self._rows.some(cycle, pod, numbers)[0])
        else:
            for row in rows:
                index.rebase(row, self._rows.base(cycle, pod, row))

    def _put(self, cycle: Cycle, pod: Any, rows: Collection[int]) -> None:
        """Rows with their bases and groups."""
        index, static = self.index, self.static
        if len(rows) > FEW_ROWS:
            numbers = list(rows)
            bases, raws = self._rows.some(cycle, pod, np.array(numbers, np.intp))
            mine: list[Raws] = list(zip(*[raw.tolist() for raw in raws], strict=True)) if raws else []
            for place, (row, base) in enumerate(zip(numbers, bases.tolist(), strict=True)):
                if base < 0:
                    index.remove(row)
                    continue
                own = static.raws(row) + mine[place] if mine else static.raws(row)
                index.put(row, own + self.domains.keys(row), base)
            return
        for row in rows:
            base = self._rows.base(cycle, pod, row)
            if base < 0:
                index.remove(row)
            else:
                own = static.raws(row)
                if self._rows.raw:
                    own += self._rows.raws(cycle, pod, row)
                index.put(row, own + self.domains.keys(row) if self._by_domain else own, base)

    # what is asked

    def among(self, rows: Iterable[int]) -> list[tuple[int, int]]:
        """The feasible ones of some rows with their totals, as if there were no other nodes."""
        feasible = self.index.among(rows)
        sizes = Counter(raws for _, raws, _ in feasible)
        rated = dict(zip(sizes, self._addition(list(sizes), list(sizes.values())), strict=True))
        totals = ((row, base, rated[raws]) for row, raws, base in feasible)
        return [(row, base + addition) for row, base, addition in totals if addition is not None]

    def check(self) -> None:
        """Asserts that nothing it holds contradicts anything else."""
        self.index.check()
        self.domains.check()
        if self.slot is not None and self._matrix is not None:
            assert isinstance(self.index, Flat)
            assert np.shares_memory(self.index.base, self._matrix.base_of(self.slot))
        assert not self._in_step or self.slot is not None
