"""The plugins of a class sorted by how long their answers last, in a form that is quick to call."""

from __future__ import annotations

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
        filters = [f for f in pod_class.filters if f.scope is scope and f.name not in cycle.skip_filter]
        scorers = [
            (s, weight)
            for s, weight in pod_class.scorers
            if s.scope is scope and s.name not in cycle.skip_score
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
