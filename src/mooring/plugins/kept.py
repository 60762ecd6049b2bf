"""What a plugin works out of a pod's spec, kept for the specs it meets again.

Equal pods share one spec object, so identity is all that is compared. What is kept may point into the
columns of a table of nodes; it is then kept as long as the table has the same columns.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

import msgspec

from mooring.cluster.nodes import NodeTable
from mooring.model.objects import PodSpec

MOST = 2048  # specs; far above the number of workloads that wait at the same time

T = TypeVar("T")


class Sign(msgspec.Struct, frozen=True, cache_hash=True):
    """What a plugin signs for pods that are alike: hashed once, however many of them come."""

    of: Hashable


class PerSpec(Generic[T]):
    """A value per spec."""

    __slots__ = ("_known", "_work_out")

    def __init__(self, work_out: Callable[[PodSpec], T]) -> None:
        self._work_out = work_out
        self._known: dict[int, tuple[PodSpec, T]] = {}

    def of(self, spec: PodSpec) -> T:
        known = self._known.get(id(spec))
        if known is not None and known[0] is spec:
            return known[1]
        if len(self._known) >= MOST:
            self._known.clear()
        value = self._work_out(spec)
        self._known[id(spec)] = (spec, value)
        return value


class PerTable(Generic[T]):
    """A value per spec, as long as the table of nodes and its layout stay the same ones.

    The hot loops of plugins look at `spec`, `layout` and `value` themselves and call `of` only when
    they differ from what they hold: a call saved is a tenth of their time.
    """

    __slots__ = ("_known", "_work_out", "layout", "spec", "value")

    value: T

    def __init__(self, work_out: Callable[[PodSpec, NodeTable], T]) -> None:
        self._work_out = work_out
        self._known: dict[int, tuple[PodSpec, T]] = {}
        self.spec: PodSpec | None = None
        self.layout: object = None

    def of(self, spec: PodSpec, table: NodeTable) -> T:
        if table.layout is not self.layout:
            self._known, self.spec, self.layout = {}, None, table.layout
        known = self._known.get(id(spec))
        if known is None or known[0] is not spec:
            if len(self._known) >= MOST:
                self._known.clear()
            known = self._known[id(spec)] = spec, self._work_out(spec, table)
        self.spec, self.value = known
        return self.value
