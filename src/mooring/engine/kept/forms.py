"""The plugins of a class sorted by how long their answers last, in a form that is quick to call."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from mooring.engine.classes import PodClass
from mooring.framework.cycle import Cycle
from mooring.framework.forms import Filter, Scorer
from mooring.framework.scope import Scope


class Forms(msgspec.Struct, frozen=True):
    """Filters and scorers of one scope. Raw scorers are normalised later, plain ones are not."""

    filters: tuple[Filter, ...]
    plain: tuple[tuple[Scorer, int], ...]
    raw: tuple[tuple[Scorer, int], ...]

    @classmethod
    def of(cls, pod_class: PodClass, scope: Scope, cycle: Cycle) -> Forms:
        """The forms of a scope that the cycle does not skip."""
        return cls._of(pod_class.filters, pod_class.scorers, scope, cycle.skip_filter, cycle.skip_score)

    @classmethod
    @lru_cache(maxsize=256)  # classes differ in what they ask for more than in whom they concern
    def _of(
        cls,
        class_filters: tuple[Filter, ...],
        class_scorers: tuple[tuple[Scorer, int], ...],
        scope: Scope,
        skip_filter: frozenset[str],
        skip_score: frozenset[str],
    ) -> Forms:
        filters = [f for f in class_filters if f.scope is scope and f.name not in skip_filter]
        scorers = [
            (s, weight) for s, weight in class_scorers if s.scope is scope and s.name not in skip_score
        ]
        return cls(
            tuple(filters),
            tuple((s, weight) for s, weight in scorers if not s.raw),
            tuple((s, weight) for s, weight in scorers if s.raw),
        )

    def plugins(self) -> dict[str, Any]:
        """The plugins behind them, by name."""
        forms: list[Filter | Scorer] = [*self.filters, *(s for s, _ in self.plain + self.raw)]
        return {form.name: form.plugin for form in forms}
