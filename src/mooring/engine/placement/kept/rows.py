"""What the plugins of row scope say of rows for a class: one row, some, or all of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from mooring.cluster.amounts import comparable
from mooring.cluster.cluster import Cluster
from mooring.cluster.column import Ints
from mooring.cluster.columns import NodeColumns, Rows
from mooring.cluster.nodes import Amounts
from mooring.cluster.view import ClusterView, NodeView
from mooring.engine.placement.kept.alike_rows import AlikeRows
from mooring.engine.placement.kept.bases import nowhere
from mooring.engine.placement.kept.buckets import Bases
from mooring.engine.placement.kept.forms import Forms
from mooring.engine.placement.kept.static import StaticPart
from mooring.framework.api import answers
from mooring.framework.api.answers import FILTER_CODES
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.normalize import MAX_SCORE
from mooring.framework.api.pod_shape import PodShape
from mooring.framework.running.forms import Filter, Scorer

MOST_KNOWN = 512  # rows with different amounts
KNOWN_BYTES = 450  # about as much as one of them takes

Ask = Callable[[Cycle, Any, NodeView], Any]


class RowForms:
    """Bases of rows, static scores included; `nowhere` where a row is not feasible."""

    def __init__(
        self, cluster: Cluster, view: ClusterView, static: StaticPart, forms: Forms, kind: np.dtype[Any]
    ) -> None:
        self._cluster = cluster
        self._view = view
        self._static = static
        self._forms = forms
        self.raw = forms.raw
        self._kind = kind  # of bases
        self._nowhere = nowhere(kind)
        self._shape: PodShape | None = None
        self._known: dict[Amounts, int] = {}  # what was said of rows with such amounts
        self._knows = forms.amounts_only and comparable(cluster.nodes)
        self._again = 0  # times it had been said before

    @property
    def nbytes(self) -> int:
        return KNOWN_BYTES * len(self._known)

    @cached_property
    def _one_filters(self) -> list[tuple[str, Ask]]:
        """How each is asked about one node, and who it is. Put together once, as it is done for every pod;
        not before it is, since a class may have one pod only."""
        return [(form.name, self._one(form)) for form in self._forms.filters]

    @cached_property
    def _one_scorers(self) -> list[tuple[str, Ask, int]]:
        return [(scorer.name, self._one(scorer), weight) for scorer, weight in self._forms.plain]

    @cached_property
    def _one_raws(self) -> list[tuple[str, Ask]]:
        return [(scorer.name, self._one(scorer)) for scorer, _ in self._forms.raw]

    def all(self, cycle: Cycle, pod: Any, bases: Bases) -> list[Ints]:
        """Writes the bases of all rows the table has room for; returns raw scores of those in use."""
        nodes, high = self._cluster.nodes, self._cluster.nodes.high
        self._forget()
        columns = NodeColumns(nodes, self._view.view)
        bases[high:] = self._nowhere
        return self._by_columns(cycle, pod, columns, self._static.base[:high], bases[:high])

    def by_number(self, cycle: Cycle, pod: Any, alike: AlikeRows, bases: Bases) -> Bases:
        """As `all`, for plugins that read amounts alone and have no raw scores. Returns what they say of each
        number."""
        high, static = self._cluster.nodes.high, self._static
        self._forget()
        found: Bases = np.empty(len(alike), self._kind)
        self._by_columns(cycle, pod, alike.columns(), np.zeros(len(alike), np.int32), found)
        numbers, used = alike.numbers[:high], bases[:high]
        bases[high:] = self._nowhere
        if static.level is not None:  # nearly always: nothing is left to be done row by row
            raised = found if not static.level else np.where(found < 0, found, found + static.level)
            raised.take(numbers, out=used, mode="clip")
            return found
        found.take(numbers, out=used, mode="clip")
        passes = (static.base[:high] >= 0) & (used >= 0)
        np.add(used, static.base[:high], out=used, casting="same_kind")
        used[~passes] = self._nowhere
        return found

    def some(self, cycle: Cycle, pod: Any, rows: Rows) -> tuple[Bases, list[Ints]]:
        """Bases and raw scores of some rows."""
        columns = NodeColumns(self._cluster.nodes, self._view.view, rows)
        bases: Bases = np.empty(len(rows), self._kind)
        return bases, self._by_columns(cycle, pod, columns, self._static.base[rows], bases)

    def _by_columns(
        self, cycle: Cycle, pod: Any, columns: NodeColumns, static: Bases, bases: Bases
    ) -> list[Ints]:
        nodes, forms = self._cluster.nodes, self._forms
        ok = static >= 0
        for form in forms.filters:
            ok = form.many(cycle, self._shown(form, pod), columns, ok, nodes)
        if not ok.any():  # a pod that fits nowhere: nobody is asked for scores
            bases[:] = self._nowhere
            return [np.zeros(len(ok), np.int64) for _ in forms.raw]
        scores: Ints | int = 0
        for scorer, weight in forms.plain:
            score = scorer.many(cycle, self._shown(scorer, pod), columns, ok, nodes)
            scores = scores + (score if weight == 1 else weight * score)
        bases[:] = scores
        np.add(bases, static, out=bases, casting="same_kind")
        if not ok.all():
            bases[~ok] = self._nowhere
        # What stands for rows that do not pass means nothing: one number for all of them.
        return [s.many(cycle, self._shown(s, pod), columns, ok, nodes) * ok for s, _ in forms.raw]

    def base(self, cycle: Cycle, pod: Any, row: int) -> int:
        """The base of one row: the way most decisions go."""
        static: int = self._static.base_at[row]
        if static < 0:
            return self._nowhere
        if not self._knows:
            found = self._asked(cycle, pod, row)
        else:
            amounts = self._cluster.nodes.amounts(row)
            known = self._known.get(amounts)
            if known is None:
                found = self._learn(amounts, self._asked(cycle, pod, row))
            else:
                found = known
                self._again += 1
        return self._nowhere if found < 0 else static + found

    def _learn(self, amounts: Amounts, found: int) -> int:
        """Keeps what was said of a row, as long as that is worth while: rows may all be different."""
        if len(self._known) == MOST_KNOWN:
            self._knows = self._again >= MOST_KNOWN
            self._forget()
        self._known[amounts] = found
        return found

    def _forget(self) -> None:
        self._known.clear()
        self._again = 0

    def _asked(self, cycle: Cycle, pod: Any, row: int) -> int:
        """What the plugins say of one row."""
        base, node = 0, self._view.view(row)
        for name, ask in self._one_filters:
            try:
                status = ask(cycle, pod, node)
            except BaseException as error:
                raise answers.raised(name, "filter", error) from error
            if status is not None and answers.status(name, "filter", status, FILTER_CODES) is not None:
                return self._nowhere
        for name, ask, weight in self._one_scorers:
            try:
                score = ask(cycle, pod, node)
            except BaseException as error:
                raise answers.raised(name, "score", error) from error
            if type(score) is not int or not 0 <= score <= MAX_SCORE:
                score = answers.score(name, score, raw=False)
            base += weight * score
        return base

    def raws(self, cycle: Cycle, pod: Any, row: int) -> tuple[int, ...]:
        """Raw scores of one row, which is feasible."""
        node = self._view.view(row)
        scores = [(name, answers.call(name, "score", ask, cycle, pod, node)) for name, ask in self._one_raws]
        return tuple([answers.score(name, score, raw=True) for name, score in scores])

    def _shown(self, form: Filter | Scorer, pod: Any) -> Any:
        """The pod as a plugin may see it. Pods of a class look alike: one shape serves them all."""
        if not form.hides_identity:
            return pod
        if self._shape is None:
            self._shape = PodShape(pod)
        return self._shape

    def _one(self, form: Filter | Scorer) -> Ask:
        """What to call to ask about one node: the plugin's own method, if it can be called as it is."""
        method = form.one_method
        if method is None:
            nodes, view = self._cluster.nodes, self._view
            return lambda cycle, pod, node: form.one(cycle, self._shown(form, pod), node, nodes, view)
        if form.hides_identity:
            return lambda cycle, pod, node: method(cycle, self._shown(form, pod), node)
        ask: Ask = method
        return ask
