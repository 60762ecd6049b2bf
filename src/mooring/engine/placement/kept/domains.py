"""The plugins of a class that judge nodes by topology domain, in step with the rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mooring.cluster.cluster import Cluster
from mooring.cluster.view import ClusterView
from mooring.engine.placement.kept.buckets import Raws
from mooring.engine.placement.kept.forms import Forms
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.domain import DomainPlugin, DomainState, FollowingState, Key
from mooring.framework.running.forms import Scorer
from mooring.model.objects import Pod

Numbered = tuple[NDArray[Any], Sequence[Key]]  # a number for each row, and the key of each number


class Domains:
    """One state per plugin. `first` is where their keys begin in the raws of a row."""

    def __init__(self, forms: Forms, first: int, cluster: Cluster, view: ClusterView) -> None:
        self._plugins = [p for p in forms.plugins.values() if isinstance(p, DomainPlugin)]
        self._filtering = {form.name for form in forms.filters}
        self._scorers = {scorer.name: (scorer, weight) for scorer, weight in forms.raw}
        self._first = first
        self._cluster = cluster
        self._view = view
        self._states: list[DomainState] = []
        self._told: list[tuple[str, DomainState, list[Key]]] = []  # those that are told of rows
        self._following: list[tuple[str, FollowingState]] = []  # those that find out themselves
        self._key_of: list[Callable[[int], Key]] = []
        self.placed: list[tuple[int, DomainState]] = []  # all, and where their keys are
        # Those that may reject, and where their keys are.
        self.judging: list[tuple[int, str, DomainState]] = []
        # Those that may score, where their keys are, and their weight.
        self.scoring: list[tuple[int, DomainState, Scorer, int]] = []

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
        self.placed = [(place, state) for place, _, state in placed]
        self.judging = [each for each in placed if each[1] in self._filtering]
        self.scoring = [(at, state, *self._scorers[n]) for at, n, state in placed if n in self._scorers]
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
            except BaseException as error:
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
        except BaseException as error:
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

    def check(self) -> None:
        for _, state in self.placed:
            state.check()

    def passing(self, columns: Sequence[Sequence[Key]]) -> tuple[int, ...] | None:
        """Which groups of rows no plugin rejects, by their keys; None: all of them pass."""
        numbers: tuple[int, ...] | None = None
        for place, name, state in self.judging:
            if not state.filters:
                continue
            passes = answers.call(name, "filter", state.passes, columns[place])
            if not all(passes):
                asked = range(len(passes)) if numbers is None else numbers
                numbers = tuple([number for number in asked if passes[number]])
        return numbers

    def raw_scores(
        self, name: str, state: DomainState, keys: Sequence[Key], number_of: Sequence[int] | None,
        sizes: Sequence[int],
    ) -> Sequence[int]:  # fmt: skip
        """The raw score of each group. `keys` are distinct; `number_of` says which of them each group has,
        None that each has its own."""
        if number_of is None:
            return answers.call(name, "score", state.raw_scores, keys, sizes)  # type: ignore[no-any-return]
        counts = [0] * len(keys)
        for number, size in zip(number_of, sizes, strict=True):
            counts[number] += size
        raw = answers.call(name, "score", state.raw_scores, keys, counts)
        return [raw[number] for number in number_of]
