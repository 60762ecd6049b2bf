"""Asks a plugin's per-node form about many nodes, in as little time as Python allows.

Says what `Filter.many` and `Scorer.many` say. Where an answer is out of the ordinary, or a plugin raises,
those are left to say it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress, repeat
from typing import Any

import numpy as np

from mooring.cluster.cluster import Cluster
from mooring.cluster.column import Ints
from mooring.cluster.columns import Bools
from mooring.cluster.view import ClusterView, NodeView
from mooring.errors import PluginFailed
from mooring.framework.api import answers
from mooring.framework.api.answers import FILTER_CODES
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.normalize import MAX_SCORE
from mooring.framework.api.scope import Scope
from mooring.framework.running.forms import Filter, Form, Scorer
from mooring.model.objects import Pod

NOTHING_SAID = {type(None)}
WIDEST = 4096  # raw values that lie closer together are looked up, others are sorted


class Asking:
    """Forms over the rows of a mask."""

    def __init__(self, cluster: Cluster, view: ClusterView) -> None:
        self._cluster = cluster
        self._view = view
        self._views: list[NodeView] = []  # by row

    def passing(self, form: Filter, cycle: Cycle, pod: Pod, among: Bools) -> Bools:
        """Which of the rows pass a filter."""
        nodes, shown = self._cluster.nodes, form.shown(pod)
        if _is_per_node(form):
            given = self._given(form, cycle, shown, among)
            if given is not None:
                return _passed(form, given, among)
        return form.many(cycle, shown, form.columns(nodes, self._view), among, nodes)

    def scores(self, form: Scorer, cycle: Cycle, pod: Pod, among: Bools) -> Ints:
        """The scores of the rows; what stands for others means nothing."""
        nodes, shown = self._cluster.nodes, form.shown(pod)
        if _is_per_node(form):
            given = self._given(form, cycle, shown, among)
            if given is not None and (found := _scored(form, given)) is not None:
                scores: Ints = np.zeros(len(among), np.int64)
                scores[among] = found
                return scores
        return form.many(cycle, shown, form.columns(nodes, self._view), among, nodes)

    def _given(self, form: Form, cycle: Cycle, shown: Any, among: Bools) -> list[Any] | None:
        """What the plugin answers, node by node; None when it raises."""
        try:
            nodes = form.paced(self._nodes(among))
            return list(map(form.loop_method, repeat(cycle), repeat(shown), nodes))
        except PluginFailed:
            raise
        except Exception:
            return None
        except BaseException as error:
            raise form.raised(error) from error

    def _nodes(self, among: Bools) -> Sequence[NodeView]:
        for row in range(len(self._views), len(among)):
            self._views.append(self._view.view(row))
        views, rows = self._views, np.flatnonzero(among)
        if len(rows) * 4 < len(among):
            return [views[row] for row in rows.tolist()]
        return list(compress(views, among.tolist()))


def normalized(scorer: Scorer, scores: Ints, ok: Bools) -> Ints:
    """Raw scores made final over the rows of a mask; zero elsewhere."""
    raw = scores[ok]
    final: Ints = np.zeros(len(ok), np.int64)
    if not len(raw):
        return final
    least, most = int(raw.min()), int(raw.max())
    if most - least < WIDEST:
        places = raw - least
        values = np.flatnonzero(np.bincount(places))
        table = np.zeros(most - least + 1, np.int64)
        table[values] = scorer.normalized((values + least).tolist())
        final[ok] = table[places]
        return final
    values = np.unique(raw)
    final[ok] = np.array(scorer.normalized(values.tolist()), np.int64)[np.searchsorted(values, raw)]
    return final


def _is_per_node(form: Form) -> bool:
    return form.many_method is None and form.scope is not Scope.STATIC


def _passed(form: Filter, given: list[Any], among: Bools) -> Bools:
    name = form.name
    if set(map(type, given)) <= NOTHING_SAID:
        return among.copy()
    passed: Bools = np.zeros(len(among), np.bool_)
    passed[among] = [
        answer is None or answers.status(name, "filter", answer, FILTER_CODES) is None for answer in given
    ]
    return passed


def _scored(form: Scorer, given: list[Any]) -> Ints | None:
    """The scores as an array; None when one of them is no score."""
    if set(map(type, given)) != {int}:
        name, raw = form.name, form.raw
        given = [answers.score(name, answer, raw=raw) for answer in given]
    try:
        scores: Ints = np.array(given, np.int64)
    except OverflowError:
        return None
    if not form.raw and len(scores) and not (scores.min() >= 0 and scores.max() <= MAX_SCORE):
        return None
    return scores
