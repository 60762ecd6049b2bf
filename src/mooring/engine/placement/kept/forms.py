"""The plugins of a class sorted by how long their answers last, in a form that is quick to call."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import msgspec

from mooring.engine.placement.classes import PodClass
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.plugin import Plugin
from mooring.framework.api.scope import Scope
from mooring.framework.running.forms import Filter, Scorer

MOST_KNOWN = 256


class Forms(msgspec.Struct, frozen=True, eq=False):
    """Filters and scorers of one scope. Raw scorers are normalised later, plain ones are not."""

    filters: tuple[Filter, ...]
    plain: tuple[tuple[Scorer, int], ...]
    raw: tuple[tuple[Scorer, int], ...]
    plugins: dict[str, Any]  # behind them, by name
    changing: tuple[Plugin, ...]  # those whose answers may change when neither nodes nor pods do
    over_pods: bool  # every one of them can be asked for many pods at a time
    amounts_only: bool  # every one of them can be asked about amounts rather than nodes
    lone: dict[tuple[Any, ...], int]  # what raw scores of these alone add to a group that is the only one

    @classmethod
    def of(cls, pod_class: PodClass, scope: Scope, cycle: Cycle) -> Forms:
        """The forms of a scope that the cycle does not skip."""
        filters = [f for f in pod_class.filters if f.scope is scope and f.name not in cycle.skip_filter]
        scorers = [
            (s, weight)
            for s, weight in pod_class.scorers
            if s.scope is scope and s.name not in cycle.skip_score
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
            lone={},
        )


class KnownForms:
    """Made once for all classes with the same plugins: most differ in what they ask for, not in whom they
    concern. Of one engine alone, so that they go with it."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Forms] = {}

    def of(self, pod_class: PodClass, scope: Scope, cycle: Cycle) -> Forms:
        key = (pod_class.filters, pod_class.scorers, scope, cycle.skip_filter, cycle.skip_score)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            found = self._known[key] = Forms.of(pod_class, scope, cycle)
        return found

    def forget(self) -> None:
        self._known.clear()
