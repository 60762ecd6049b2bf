"""The plugins of a class that judge nodes by topology domain, in step with the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from mooring.cluster.view import NodeView
from mooring.engine.kept.buckets import Raws
from mooring.engine.kept.forms import Forms
from mooring.framework import answers
from mooring.framework.cycle import Cycle
from mooring.framework.domain import DomainPlugin, DomainState, Key
from mooring.framework.forms import Scorer
from mooring.model.objects import Pod


class Domains:
    """One state per plugin. `first` is where their keys begin in the raws of a row."""

    def __init__(self, forms: Forms, first: int) -> None:
        self._plugins = [p for p in forms.plugins().values() if isinstance(p, DomainPlugin)]
        self._filtering = {form.name for form in forms.filters}
        self._scorers = {scorer.name: (scorer, weight) for scorer, weight in forms.raw}
        self._first = first
        self._states: list[DomainState] = []

    def __bool__(self) -> bool:
        return bool(self._plugins)

    def start(self, cycle: Cycle, pod: Pod) -> None:
        """Begins with no row taken in."""
        self._states = [answers.call(p.name, "domain", p.domain, cycle, pod) for p in self._plugins]

    def lend(self, cycle: Cycle) -> None:
        """Lets the per-node forms of this cycle use the states instead of making their own."""
        for plugin, state in zip(self._plugins, self._states, strict=True):
            cycle.write(plugin.state_key(), state)

    def update(self, row: int, node: NodeView | None) -> Raws:
        """Takes a row in; returns its keys."""
        keys = []
        for plugin, state in zip(self._plugins, self._states, strict=True):
            try:
                keys.append(state.update(row, node))
            except Exception as error:
                raise answers.raised(plugin.name, "domain", error) from error
        return tuple(keys)

    def update_all(self, rows: Sequence[int], nodes: Sequence[NodeView | None]) -> list[Raws]:
        """Takes many rows in; returns their keys."""
        keys: list[list[Key]] = []
        for plugin, state in zip(self._plugins, self._states, strict=True):
            try:
                keys.append(state.update_all(rows, nodes))
            except Exception as error:
                raise answers.raised(plugin.name, "domain", error) from error
        return list(zip(*keys, strict=True))

    def rate(self, raws: Sequence[Raws], sizes: Sequence[int]) -> list[int | None]:
        """What the plugins add to each group of rows; None where one of them rejects it."""
        passing = [index for index in range(len(raws)) if self._passes(raws[index])]
        rated: list[int | None] = [None] * len(raws)
        for index in passing:
            rated[index] = 0
        for offset, (plugin, state) in enumerate(zip(self._plugins, self._states, strict=True)):
            if plugin.name not in self._scorers or not state.scores:
                continue
            keys = [raws[index][self._first + offset] for index in passing]
            scores = self._scores(
                state, keys, [sizes[index] for index in passing], *self._scorers[plugin.name]
            )
            for index, key in zip(passing, keys, strict=True):
                rated[index] = (rated[index] or 0) + scores[key]
        return rated

    def _passes(self, raws: Raws) -> bool:
        for offset, (plugin, state) in enumerate(zip(self._plugins, self._states, strict=True)):
            if not state.filters or plugin.name not in self._filtering:
                continue
            try:
                if state.status(raws[self._first + offset]) is not None:
                    return False
            except Exception as error:
                raise answers.raised(plugin.name, "filter", error) from error
        return True

    def _scores(
        self, state: DomainState, keys: list[Key], sizes: list[int], scorer: Scorer, weight: int
    ) -> dict[Key, int]:
        """Weighted, normalised scores by key."""
        counts: Counter[Key] = Counter()
        for key, size in zip(keys, sizes, strict=True):
            counts[key] += size
        if not counts:
            return {}
        raw = answers.call(scorer.name, "score", state.raw_scores, list(counts), list(counts.values()))
        values = sorted(set(raw))
        normalized = dict(zip(values, scorer.normalized(values), strict=True))
        return {key: weight * normalized[value] for key, value in zip(counts, raw, strict=True)}
