"""The plugins of a class that judge nodes by topology domain, in step with the rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.cluster import Cluster
from mooring.cluster.view import ClusterView
from mooring.engine.kept.buckets import Raws
from mooring.engine.kept.forms import Forms
from mooring.framework import answers
from mooring.framework.cycle import Cycle
from mooring.framework.domain import DomainPlugin, DomainState, FollowingState, Key
from mooring.framework.forms import Scorer
from mooring.model.objects import Pod

Numbered = tuple[NDArray[Any], Sequence[Key]]  # a number for each row, and the key of each number


class Domains:
    """One state per plugin. `first` is where their keys begin in the raws of a row."""

    def __init__(self, forms: Forms, first: int, cluster: Cluster, view: ClusterView) -> None:
        self._plugins = [p for p in forms.plugins().values() if isinstance(p, DomainPlugin)]
        self._filtering = {form.name for form in forms.filters}
        self._scorers = {scorer.name: (scorer, weight) for scorer, weight in forms.raw}
        self._first = first
        self._cluster = cluster
        self._view = view
        self._states: list[DomainState] = []
        self._last: dict[str, tuple[list[int], dict[int, int]]] = {}  # values and normalised ones, by scorer
        self._told: list[tuple[str, DomainState, list[Key]]] = []  # those that are told of rows
        self._following: list[tuple[str, FollowingState]] = []  # those that find out themselves
        self._key_of: list[Callable[[int], Key]] = []
        self._judging: list[
            tuple[int, str, DomainState]
        ] = []  # those that may reject, and where their keys are
        self._scoring: list[
            tuple[int, DomainState, Scorer, int]
        ] = []  # those that may score, with their weight

    def __bool__(self) -> bool:
        return bool(self._plugins)

    @property
    def follows(self) -> bool:
        """Whether all of them find out themselves which rows changed."""
        return not self._told

    def start(self, cycle: Cycle, pod: Pod) -> None:
        """Begins with every row taken in."""
        self._states = [answers.call(p.name, "domain", p.domain, cycle, pod) for p in self._plugins]
        self._told, self._following, self._key_of = [], [], []
        for plugin, state in self._pairs():
            if isinstance(state, FollowingState):
                self._following.append((plugin.name, state))
                self._key_of.append(state.key)
            else:
                keys: list[Key] = []
                self._told.append((plugin.name, state, keys))
                self._key_of.append(keys.__getitem__)
        placed = [(offset, p.name, s) for offset, (p, s) in enumerate(self._pairs(), self._first)]
        self._judging = [each for each in placed if each[1] in self._filtering]
        self._scoring = [(at, state, *self._scorers[n]) for at, n, state in placed if n in self._scorers]
        for name, following in self._following:
            answers.call(name, "domain", following.sync)
        for name, told, keys in self._told:
            self._tell(name, told, keys, range(self._cluster.nodes.high))

    def lend(self, cycle: Cycle) -> None:
        """Lets the per-node forms of this cycle use the states instead of making their own."""
        for plugin, state in self._pairs():
            cycle.write(plugin.state_key(), state)

    def _pairs(self) -> Iterable[tuple[DomainPlugin, DomainState]]:
        return zip(self._plugins, self._states, strict=True)

    def sync(self, changed: Iterable[int]) -> set[int]:
        """Takes in the rows that changed; returns those whose keys may be others now."""
        moved: set[int] = set()
        for name, following in self._following:
            try:
                moved.update(following.sync())
            except Exception as error:
                raise answers.raised(name, "domain", error) from error
        if self._told:
            moved.update(changed)
            for name, state, keys in self._told:
                self._tell(name, state, keys, moved)
        return moved

    def _tell(self, name: str, state: DomainState, keys: list[Key], rows: Iterable[int]) -> None:
        keys.extend([None] * (self._cluster.nodes.high - len(keys)))
        alive, view = self._cluster.nodes.alive, self._view.view
        numbers = list(rows)
        shown = [view(row) if alive[row] else None for row in numbers]
        try:
            for row, key in zip(numbers, state.update_all(numbers, shown), strict=True):
                keys[row] = key
        except Exception as error:
            raise answers.raised(name, "domain", error) from error

    @property
    def version(self) -> Hashable:
        """Moves when what they say of keys may be different; None: it always may."""
        if self._told:
            return None
        return tuple([state.version for _, state in self._following])

    def keys(self, row: int) -> Raws:
        """The keys of a row's domains. Nodes that are full or tainted have some as well."""
        return tuple([key_of(row) for key_of in self._key_of])

    def numbered(self) -> list[Numbered]:
        """The keys of all rows, by plugin."""
        return [self._numbered(state) for state in self._states]

    def _numbered(self, state: DomainState) -> Numbered:
        if isinstance(state, FollowingState):
            return state.numbered(self._cluster.nodes.high)
        keys = next(keys for _, told, keys in self._told if told is state)
        numbers: dict[Key, int] = {}
        codes = [numbers.setdefault(key, len(numbers)) for key in keys]
        return np.array(codes, np.int32), list(numbers)

    def rate(self, raws: Sequence[Raws], sizes: Sequence[int]) -> list[int | None]:
        """What the plugins add to each group of rows; None where one of them rejects it."""
        passing: Sequence[int] = range(len(raws))
        for offset, name, state in self._judging:
            if state.filters:
                passing = self._passing(name, state, offset, raws, passing)
        rated: list[int | None] = [None] * len(raws)
        for index in passing:
            rated[index] = 0
        for offset, state, scorer, weight in self._scoring:
            if not state.scores:
                continue
            keys = [raws[index][offset] for index in passing]
            scores = self._scores(state, keys, [sizes[index] for index in passing], scorer, weight)
            for index, key in zip(passing, keys, strict=True):
                rated[index] += scores[key]  # type: ignore[operator]
        return rated

    def _normalized(self, scorer: Scorer, values: list[int]) -> dict[int, int]:
        """Depends on nothing but the values; often they are those of the last time."""
        known = self._last.get(scorer.name)
        if known is None or known[0] != values:
            known = (values, dict(zip(values, scorer.normalized(values), strict=True)))
            self._last[scorer.name] = known
        return known[1]

    def _passing(
        self, name: str, state: DomainState, offset: int, raws: Sequence[Raws], among: Sequence[int]
    ) -> list[int]:
        passes = answers.call(name, "filter", state.passes, [raws[index][offset] for index in among])
        return [index for index, passed in zip(among, passes, strict=True) if passed]

    def _scores(
        self, state: DomainState, keys: list[Key], sizes: list[int], scorer: Scorer, weight: int
    ) -> dict[Key, int]:
        """Weighted, normalised scores by key."""
        counts: dict[Key, int] = {}
        for key, size in zip(keys, sizes, strict=True):
            counts[key] = counts.get(key, 0) + size
        if not counts:
            return {}
        raw = answers.call(scorer.name, "score", state.raw_scores, list(counts), list(counts.values()))
        normalized = self._normalized(scorer, sorted(set(raw)))
        return {key: weight * normalized[value] for key, value in zip(counts, raw, strict=True)}
