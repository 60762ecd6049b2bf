"""The two forms of `filter` and `score`: one node at a time, and over columns. Either makes the other.

A plugin writes whichever it likes. Asked for many nodes, a per-node form is called in a loop; asked
for one, a vector form is called with one row. What comes back is checked on the way.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from mooring.cluster.column import Ints
from mooring.cluster.columns import Bools, NodeColumns, Rows, StaticColumns
from mooring.cluster.nodes import NodeTable
from mooring.cluster.view import ClusterView, StaticNode
from mooring.errors import PluginFailed, PointTimedOut
from mooring.framework.api import answers
from mooring.framework.api.answers import FILTER_CODES, Mask, Rejections
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.normalize import MAX_SCORE, Normalizer
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.pod_shape import PodShape
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Status, unschedulable
from mooring.framework.running.budget import Ledger
from mooring.framework.running.inspection import signs_itself
from mooring.model.objects import Pod

Each = TypeVar("Each")
MOST_RAW = 2**63 - 1
VECTOR_ONLY = unschedulable("node(s) were rejected")


class Form:
    """What filter and score have in common: which node and pod the plugin is shown."""

    point: str

    def __init__(self, plugin: Plugin, one: Any, many: Any) -> None:
        self.plugin = plugin
        self.name = plugin.name
        self.scope = plugin.scope
        self.one_method = self.loop_method = one  # in a loop over nodes time is looked after by the loop
        self.many_method = many
        self.ledger: Ledger | None = None
        self.hides_identity = plugin.scope is not Scope.CLUSTER and not signs_itself(type(plugin))

    @cached_property
    def over_pods(self) -> bool:
        """Whether it can be asked about one node for many pods."""
        make = getattr(self.plugin, "pod_columns", None)
        return (
            make is not None
            and self.plugin.scope is Scope.ROW
            and answers.call(self.name, "pod_columns", make) is not None
        )

    @cached_property
    def amounts_only(self) -> bool:
        """Whether it can be asked about amounts rather than nodes."""
        return self.plugin.amounts_only and self.scope is Scope.ROW and self.many_method is not None

    def watch(self, watched: Callable[[str, Any], Any]) -> None:
        """Puts something that watches between the plugin's methods and whoever calls them."""
        if self.one_method is not None:
            self.one_method = self.loop_method = watched(self.name, self.one_method)
        if self.many_method is not None:
            self.many_method = watched(self.name, self.many_method)

    def budget(self, ledger: Ledger) -> None:
        """Has the time it takes kept in a ledger."""
        self.ledger = ledger
        if self.one_method is not None:
            self.one_method = ledger.watch(self.point, self.one_method)
        if self.many_method is not None:
            self.many_method = ledger.watch(self.point, self.many_method)

    def paced(self, nodes: Iterable[Each]) -> Iterable[Each]:
        """Nodes to ask about one after the other, as long as there is time."""
        return nodes if self.ledger is None else self.ledger.paced(self.point, nodes)

    def raised(self, error: BaseException) -> PluginFailed:
        """What a method that raises in such a loop comes to."""
        if self.ledger is not None and isinstance(error, PointTimedOut):
            return self.ledger.interrupted(self.point, error)
        return answers.raised(self.name, self.point, error)

    def shown(self, pod: Pod) -> Any:
        """The pod as this plugin may see it."""
        return PodShape(pod) if self.hides_identity else pod

    def view(self, node: StaticNode) -> StaticNode:
        """The node as this plugin may see it."""
        return node._static if self.scope is Scope.STATIC else node

    def _nodes(self, columns: StaticColumns, indexes: Rows) -> Iterator[StaticNode]:
        """The nodes at some positions of the columns, as this plugin may see them."""
        rows = columns.rows[indexes].tolist()
        if self.scope is Scope.STATIC:
            return (self.view(columns.at_row(row)) for row in rows)
        return map(columns.at_row, rows)

    def columns(self, table: NodeTable, cluster: ClusterView, rows: Any = None) -> StaticColumns:
        if self.scope is Scope.STATIC:
            return StaticColumns(table, cluster.view, rows)
        return NodeColumns(table, cluster.view, rows)


class Filter(Form):
    """A plugin's filter, in both forms."""

    point = "filter"

    @classmethod
    def of(cls, plugin: Plugin) -> Filter | None:
        one, many = getattr(plugin, "filter", None), getattr(plugin, "filter_nodes", None)
        return cls(plugin, one, many) if one or many else None

    def one(
        self, cycle: Cycle, pod: Any, node: StaticNode, table: NodeTable, cluster: ClusterView
    ) -> Status | None:
        """The status of one node: None when it passes."""
        if self.one_method is not None:
            answer = answers.call(self.name, "filter", self.one_method, cycle, pod, node)
            return answers.status(self.name, "filter", answer, FILTER_CODES)
        mask = self._asked(cycle, pod, self.columns(table, cluster, np.array([node.row], np.intp)))
        return None if mask.ok[0] else mask.status.by(self.name)

    def many(self, cycle: Cycle, pod: Any, columns: StaticColumns, among: Bools, table: NodeTable) -> Bools:
        """Which of the nodes `among` pass."""
        if self.many_method is not None:
            return np.asarray(self._asked(cycle, pod, columns).ok & among)
        passed: Bools = np.zeros(len(columns), np.bool_)
        indexes = np.flatnonzero(among)
        method, name, ok = self.loop_method, self.name, []
        for node in self.paced(self._nodes(columns, indexes)):
            try:
                answer = method(cycle, pod, node)
            except BaseException as error:
                raise self.raised(error) from error
            ok.append(answer is None or answers.status(name, "filter", answer, FILTER_CODES) is None)
        passed[indexes] = ok
        return passed

    def statuses(
        self, cycle: Cycle, pod: Any, rows: Rows, table: NodeTable, cluster: ClusterView
    ) -> Rejections:
        """The status of each of these rows, which it rejects. A plugin may have a vector form of this
        as well, `statuses_of`: whole clusters reject at times."""
        if (many := getattr(self.plugin, "statuses_of", None)) is not None and len(rows):
            columns = self.columns(table, cluster, rows)
            answer = answers.call(self.name, "filter", many, cycle, pod, columns)
            rejections: Rejections = answers.call(self.name, "filter", self._checked, answer, len(rows))
            return rejections
        nodes = (self.view(cluster.view(row)) for row in rows.tolist())
        found = (self.one(cycle, pod, node, table, cluster) for node in nodes)
        statuses = [status if status is not None else unschedulable().by(self.name) for status in found]
        index = {status: number for number, status in enumerate(dict.fromkeys(statuses))}
        return Rejections(tuple(index), np.array([index[status] for status in statuses], np.intp))

    def _checked(self, answer: Any, count: int) -> Rejections:
        """What `statuses_of` says, if it says something of every row."""
        if type(answer) is not Rejections or not _indexes(answer.numbers, count, len(answer.distinct)):
            what = f"statuses_of returned {answers.shown(answer)}, not Rejections of {count} nodes"
            raise answers.failed(self.name, "filter", what)
        given = [answers.status(self.name, "filter", s, FILTER_CODES) for s in answer.distinct]
        distinct = tuple(status for status in given if status is not None)
        if len(distinct) != len(given):
            raise answers.failed(self.name, "filter", "statuses_of rejects with success")
        return Rejections(distinct, answer.numbers)

    def _asked(self, cycle: Cycle, pod: Any, columns: StaticColumns) -> Mask:
        answer = answers.call(self.name, "filter", self.many_method, cycle, pod, columns)
        mask = answer if type(answer) is Mask else Mask(answer, VECTOR_ONLY)
        ok = mask.ok
        if not (type(ok) is np.ndarray and ok.dtype == np.bool_ and ok.shape == (len(columns),)):
            raise answers.failed(
                self.name, "filter", f"filter_nodes returned {kind_of(ok)}, not {len(columns)} booleans"
            )
        status = answers.status(self.name, "filter", mask.status, FILTER_CODES)
        if status is None:
            raise answers.failed(
                self.name, "filter", "filter_nodes returned a Mask that rejects with success"
            )
        return mask if status is mask.status else Mask(ok, status)

    def over(self, cycle: Cycle, pod: Any, columns: StaticColumns) -> Bools:
        """What the vector form says of columns of whatever nodes."""
        ok: Bools = self._asked(cycle, pod, columns).ok
        return ok


class Scorer(Form):
    """A plugin's score, in both forms, with its normaliser."""

    point = "score"

    def __init__(self, plugin: Plugin, one: Any, many: Any) -> None:
        super().__init__(plugin, one, many)
        self.normalize = _normalizer(plugin)
        self.raw = self.normalize is not None  # scores are still to be normalised

    def budget(self, ledger: Ledger) -> None:
        super().budget(ledger)
        if self.normalize is not None:
            self.normalize = ledger.watch("normalize", self.normalize)

    @classmethod
    def of(cls, plugin: Plugin) -> Scorer | None:
        one, many = getattr(plugin, "score", None), getattr(plugin, "score_nodes", None)
        return cls(plugin, one, many) if one or many else None

    def one(self, cycle: Cycle, pod: Any, node: StaticNode, table: NodeTable, cluster: ClusterView) -> int:
        if self.one_method is not None:
            answer = answers.call(self.name, "score", self.one_method, cycle, pod, node)
            return answers.score(self.name, answer, raw=self.raw)
        return int(self._asked(cycle, pod, self.columns(table, cluster, np.array([node.row], np.intp)))[0])

    def many(self, cycle: Cycle, pod: Any, columns: StaticColumns, among: Bools, table: NodeTable) -> Ints:
        """Scores of the nodes `among`; whatever stands for the others means nothing."""
        if self.many_method is not None:
            return self._asked(cycle, pod, columns, among)
        scores: Ints = np.zeros(len(columns), np.int64)
        indexes = np.flatnonzero(among)
        method, name, raw, given = self.loop_method, self.name, self.raw, []
        for node in self.paced(self._nodes(columns, indexes)):
            try:
                answer = method(cycle, pod, node)
            except BaseException as error:
                raise self.raised(error) from error
            given.append(answers.score(name, answer, raw=raw))
        scores[indexes] = given
        return scores

    def normalized(self, values: list[int]) -> list[int]:
        """Distinct raw values to final scores, in the same order."""
        assert self.normalize is not None
        answer = answers.call(self.name, "normalize", self.normalize, values)
        if not _has(answer, len(values)):
            what = f"returned {answers.shown(answer)} for {len(values)} values"
            raise answers.failed(self.name, "normalize", what)
        checked = answers.score
        return [
            score if type(score) is int and 0 <= score <= MAX_SCORE else checked(self.name, score, raw=False)
            for score in answer
        ]

    def _asked(self, cycle: Cycle, pod: Any, columns: StaticColumns, among: Bools | None = None) -> Ints:
        scores = answers.call(self.name, "score", self.many_method, cycle, pod, columns)
        good = type(scores) is np.ndarray and scores.dtype.kind in "iu" and scores.shape == (len(columns),)
        if not good:
            raise answers.failed(
                self.name, "score", f"score_nodes returned {kind_of(scores)}, not {len(columns)} integers"
            )
        if not self.raw and len(scores) and not in_range(scores):
            asked = scores if among is None else scores[among]
            for value in (asked.min(), asked.max()) if len(asked) else ():
                if not 0 <= value <= MAX_SCORE:
                    raise answers.out_of_range(self.name, int(value))
        if scores.dtype == np.uint64 and len(scores) and scores.max() > MOST_RAW:
            what = f"returned {scores.max()}, which does not fit into 64 bits"
            raise answers.failed(self.name, "score", what)
        return np.asarray(scores, np.int64)

    def over(self, cycle: Cycle, pod: Any, columns: StaticColumns) -> Ints:
        """What the vector form says of columns of whatever nodes."""
        return self._asked(cycle, pod, columns)


def _normalizer(plugin: Plugin) -> Normalizer | None:
    """A plugin's `normalize`: a method, or a plain function of the values kept as a class attribute."""
    found = inspect.getattr_static(plugin, "normalize", None)
    if inspect.isfunction(found) and len(inspect.signature(found).parameters) == 1:
        return found
    normalizer: Normalizer | None = getattr(plugin, "normalize", None)
    return normalizer


def in_range(scores: Ints) -> bool:
    """Whether all are scores; `argmax` and `argmin` are quicker than `max` and `min`."""
    return bool(scores[scores.argmin()] >= 0 and scores[scores.argmax()] <= MAX_SCORE)


def kind_of(value: Any) -> str:
    """What an answer is, for who says that it is wrong."""
    if type(value) is np.ndarray:
        return f"an array of {value.dtype} of shape {value.shape}"
    return answers.shown(value)


def _has(answer: Any, count: int) -> bool:
    """Whether it is a sequence of so many."""
    if type(answer) is np.ndarray:
        return bool(answer.shape == (count,))
    return type(answer) in (list, tuple) and len(answer) == count


def _indexes(numbers: Any, count: int, among: int) -> bool:
    """Whether it is an array of so many indexes of a sequence of such a length."""
    if type(numbers) is not np.ndarray or numbers.dtype.kind not in "iu" or numbers.shape != (count,):
        return False
    return bool(numbers.min() >= 0 and numbers.max() < among) if count else True
