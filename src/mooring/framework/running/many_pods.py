"""A third form of `filter` and `score`: many pods, one node. Plugins offer it beside the other two."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from mooring.cluster.column import Ints
from mooring.cluster.columns import Bools
from mooring.cluster.view import NodeView
from mooring.framework.api import answers
from mooring.framework.api.normalize import MAX_SCORE
from mooring.framework.running.forms import Filter, Scorer, in_range, kind_of
from mooring.model.objects import Pod


class PodColumns(ABC):
    """What a plugin that has the form (`pod_columns`) gives: it is asked about a node that changed once for
    all classes of pods that are waiting. Each has a slot; what is read of its pods is put
    there. Answers must be those of the other forms, for every slot that was put."""

    @abstractmethod
    def put(self, slot: int, pod: Pod) -> None:
        """What is read of a pod; slots are used again for others."""

    def filter(self, node: NodeView, slots: int) -> Bools:
        """Whether the node passes for the pod of each of the first slots. Not asked of who only scores."""
        raise NotImplementedError

    def score(self, node: NodeView, slots: int) -> Ints:
        """What the node scores for the pod of each of the first slots. Scores that are normalised have no
        such form."""
        raise NotImplementedError


class OverPods:
    """Filters and scorers of row scope over many pods, each of which has a slot."""

    def __init__(self, filters: Sequence[Filter], scorers: Sequence[tuple[Scorer, int]]) -> None:
        forms: list[Filter | Scorer] = [*filters, *(scorer for scorer, _ in scorers)]
        plugins: dict[str, Any] = {form.name: form.plugin for form in forms}
        self._columns: dict[str, PodColumns] = {
            name: answers.call(name, "pod_columns", plugin.pod_columns) for name, plugin in plugins.items()
        }
        self._filters = [(form.name, self._columns[form.name].filter) for form in filters]
        self._scorers = [(form.name, self._columns[form.name].score, weight) for form, weight in scorers]

    def put(self, slot: int, pod: Pod) -> None:
        for name, columns in self._columns.items():
            answers.call(name, "pod_columns", columns.put, slot, pod)

    def one(self, pod: Pod, node: NodeView) -> tuple[bool, int]:
        """Whether the node passes for one pod, and its weighted score: for comparing forms."""
        self.put(0, pod)
        ok, total = self.ask(node, 1)
        return bool(ok[0]), int(total[0])

    def ask(self, node: NodeView, slots: int) -> tuple[Bools, Ints]:
        """For which of the slots the node passes, and its weighted score, to be read only; what stands for
        others means nothing."""
        ok: Bools | None = None
        for name, asks in self._filters:
            passed = answers.call(name, "filter", asks, node, slots)
            if not (isinstance(passed, np.ndarray) and passed.dtype == np.bool_ and passed.shape == (slots,)):
                raise answers.failed(name, "filter", f"returned {kind_of(passed)}, not {slots} booleans")
            ok = passed if ok is None else ok & passed
        if ok is None:
            ok = np.ones(slots, np.bool_)
        total: Ints | None = None
        for name, scores, weight in self._scorers:
            given = answers.call(name, "score", scores, node, slots)
            if not (isinstance(given, np.ndarray) and given.dtype == np.int64 and given.shape == (slots,)):
                raise answers.failed(name, "score", f"returned {kind_of(given)}, not {slots} integers")
            if slots and not in_range(given):
                for value in given[ok & ((given < 0) | (given > MAX_SCORE))][:1].tolist():
                    raise answers.out_of_range(name, value)
            weighed = given if weight == 1 else weight * given
            total = weighed if total is None else total + weighed
        return ok, np.zeros(slots, np.int64) if total is None else total
