"""The plugins of a class sorted by how long their answers last, in a form that is quick to call."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec

from mooring.engine.classes import PodClass
from mooring.framework.cycle import Cycle
from mooring.framework.forms import Filter, Scorer
from mooring.framework.plugin import Plugin
from mooring.framework.scope import Scope


class Forms(msgspec.Struct, frozen=True, eq=False):
    """Filters and scorers of one scope. Raw scorers are normalised later, plain ones are not."""

    filters: tuple[Filter, ...]
    plain: tuple[tuple[Scorer, int], ...]
    raw: tuple[tuple[Scorer, int], ...]
    plugins: dict[str, Any]  # behind them, by name
    changing: tuple[Plugin, ...]  # those whose answers may change when neither nodes nor pods do
    over_pods: bool  # every one of them can be asked for many pods at a time
    amounts_only: bool  # every one of them can be asked about amounts rather than nodes

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
        forms: list[Filter | Scorer] = [*filters, *(s for s, _ in scorers)]
        plugins = {form.name: form.plugin for form in forms}
        raw = tuple((s, weight) for s, weight in scorers if s.raw)
        return cls(
            filters=tuple(filters),
            plain=tuple((s, weight) for s, weight in scorers if not s.raw),
            raw=raw,
            plugins=plugins,
            changing=tuple(p for p in plugins.values() if type(p).version is not Plugin.version),
            over_pods=not raw and all(form.over_pods and not form.hides_identity for form in forms),
            amounts_only=not raw and all(form.amounts_only for form in forms),
        )
