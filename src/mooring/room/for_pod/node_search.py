"""Looks for the best node to preempt on: begins anywhere, and stops when enough candidates are known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from mooring.cluster.columns import Bools, Rows
from mooring.errors import PluginFailed
from mooring.framework.api.answers import Statuses
from mooring.framework.api.node_trial import Demand, Others
from mooring.framework.api.status import Code, Status
from mooring.room.choice import Candidate, better
from mooring.room.for_pod.dry_run import ALL_STAY, NO_VICTIMS_REASON, DryRun
from mooring.room.for_pod.prospects import Prospects
from mooring.room.for_pod.rows_apart import RowsApart
from mooring.room.for_pod.single_row import Left
from mooring.room.for_pod.slots import PodSlots
from mooring.room.for_pod.sweep import Ahead

FEWEST_AT_ONCE = 128  # nodes; fewer cost as much
NOT_HELPFUL = "Preemption is not helpful for scheduling"


class NodeSearch:
    """One search. `reasons` says why nodes are no candidates, `errors` what went wrong on the way."""

    def __init__(
        self,
        slots: PodSlots,
        dry_run: DryRun,
        statuses: Statuses,
        apart: RowsApart | None,
        *,
        keep_all: bool = False,
    ) -> None:
        self._slots = slots
        self._dry_run = dry_run
        self._statuses = statuses
        self._apart = apart
        self._keep_all = keep_all
        self._wanted = 0
        self._found = 0
        self._without_violation = False
        self.examined = 0
        self.best: Candidate | None = None
        self.candidates: list[Candidate] = []  # all of them, if they are to be kept
        self.reasons: Counter[str] = Counter()
        self.errors: list[str] = []

    def ask(self, rows: Rows, wanted: int) -> None:
        """The best of at least so many candidates, if there are as many. Filters are asked about each row."""
        self._wanted = wanted
        self.examined += len(rows)
        self._ask(rows)

    def sweep(self, rows: Rows, wanted: int, demand: Demand, prospects: Prospects, ahead: Ahead) -> None:
        """The same, when what must be free is known. A part of the rows at a time."""
        self._wanted = wanted
        step = max(wanted, FEWEST_AT_ONCE)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            self.examined += len(part)
            prospects.look_at(part, ahead)
            self._sweep(part, demand, prospects)
            if self._enough:
                return

    @property
    def _enough(self) -> bool:
        return self._without_violation and self._found >= self._wanted

    def _sweep(self, rows: Rows, demand: Demand, prospects: Prospects) -> None:
        """Sorts out where too much is missing; the rest is decided here, or by asking the filters."""
        apart = self._apart(rows) if self._apart is not None else None
        if apart is not None and apart.any():
            self._sweep_around(apart, rows, demand, prospects)
            return
        if demand.alone and (prospects.helps[rows] & demand.open[rows]).all():
            self._choose(rows, prospects)  # as nearly always when the cluster is full
            return
        is_open = demand.open[rows]
        left = self._promising(rows, demand, prospects)
        if not demand.alone:
            self._ask_in_turn(rows[left], demand, prospects, _not_alone(rows[left], demand, prospects))
            return
        self._ask(rows[left & ~is_open])
        if not self._enough:
            self._decide(rows[left & is_open], prospects)

    def _sweep_around(self, apart: Bools, rows: Rows, demand: Demand, prospects: Prospects) -> None:
        """The same where some rows are to be looked at one by one, whatever the arrays say."""
        left = apart.copy()
        left[~apart] = self._promising(rows[~apart], demand, prospects)
        rows, apart = rows[left], apart[left]
        self._ask_in_turn(rows, demand, prospects, apart | _not_alone(rows, demand, prospects))

    def _promising(self, rows: Rows, demand: Demand, prospects: Prospects) -> Bools:
        """Rows that are not out of the question, as far as the arrays tell."""
        has_victims = prospects.has_victims[rows]
        self.reasons[NO_VICTIMS_REASON] += len(rows) - int(has_victims.sum())
        left: Bools = has_victims & ~self._fixed(has_victims & ~demand.open[rows], rows, demand)
        short = left & (prospects.short[rows] != 0)
        if short.any():
            self.reasons += prospects.reasons(rows[short])
            left &= ~short
        return left

    def _fixed(self, closed: Bools, rows: Rows, demand: Demand) -> Bools:
        """Rows rejected by a filter that looks at node objects alone: it would say the same again."""
        fixed: Bools = np.zeros(len(rows), np.bool_)
        for index in np.flatnonzero(closed).tolist():
            status = self._statuses[self._name(int(rows[index]))]
            if status.plugin in demand.static:
                self.reasons.update(status.reasons)
                fixed[index] = True
        return fixed

    def _decide(self, rows: Rows, prospects: Prospects) -> None:
        count = prospects.count[rows]
        if not count.all():
            for row in rows[count == 0].tolist():
                self.errors.append(ALL_STAY.format(self._name(row)))
            rows = rows[count > 0]
        if len(rows):
            self._choose(rows, prospects)

    def _choose(self, rows: Rows, prospects: Prospects) -> None:
        """The best of some rows, on each of which preemption helps."""
        rows = self._cut(rows, prospects.violations[rows] == 0)
        if self._keep_all:
            self.candidates += map(prospects.candidate, rows.tolist())
        self.best = better(self.best, prospects.candidate(prospects.best(rows)))

    def _cut(self, rows: Rows, clean: Bools) -> Rows:
        """Leaves out candidates that come after enough of them are known."""
        enough = max(self._wanted - self._found, 1)
        if not self._without_violation:
            first = int(clean.argmax())
            self._without_violation = bool(clean[first])
            enough = max(enough, first + 1) if self._without_violation else len(rows)
        rows = rows[:enough]
        self._found += len(rows)
        return rows

    def _ask_in_turn(self, rows: Rows, demand: Demand, prospects: Prospects, must_ask: Bools) -> None:
        """Asks the filters where it must. Where no pod matters to those that look at pods, they say what they
        say whoever goes, and the arrays decide the rest."""
        counted = prospects.left if demand.alone else None
        fitting: list[int] = []
        best, at = self.best, -1
        for number, (row, asked) in enumerate(zip(rows.tolist(), must_ask.tolist(), strict=True)):
            if asked:
                self._ask(rows[number : number + 1], counted if demand.open[row] else None)
                if self.best is not best:
                    best, at = self.best, number
            elif demand.others is None or (status := self._status(demand.others, row)) is None:
                self._fits(prospects, row, fitting)
            else:
                self._refused(status)
            if self._enough:
                break
        if fitting:
            found = prospects.candidate(prospects.best(np.array(fitting, np.intp)))
            first_found = at < 0 or at < rows.tolist().index(found.row)
            self.best = better(self.best, found) if first_found else better(found, self.best)

    def _status(self, others: Others, row: int) -> Status | None:
        try:
            return others.status(row)
        except PluginFailed as failure:
            return Status(Code.ERROR, (str(failure),))

    def _fits(self, prospects: Prospects, row: int, fitting: list[int]) -> None:
        if not prospects.count[row]:
            self.errors.append(ALL_STAY.format(self._name(row)))
            return
        fitting.append(row)
        self._found += 1
        self._without_violation |= not prospects.violations[row]
        if self._keep_all:
            self.candidates.append(prospects.candidate(row))

    def _refused(self, status: Status) -> None:
        if status.code is Code.ERROR:
            self.errors.append(status.message)
        else:
            self.reasons.update(status.reasons)

    def _ask(self, rows: Rows, counted: Callable[[int], Left] | None = None) -> None:
        """Has the dry run made on some rows. `counted`: what is left there, if nothing else decides."""
        for row in rows.tolist():
            left = None if counted is None else counted(row)
            answer = self._dry_run.on(row, self._name(row), self._slots.placed(row), left)
            if isinstance(answer, Candidate):
                self._found += 1
                self._without_violation |= not answer.violations
                self.best = better(self.best, answer)
                if self._keep_all:
                    self.candidates.append(answer)
                if self._enough:
                    return
            else:
                self._refused(answer)

    def _name(self, row: int) -> str:
        return self._slots.nodes.names[row]


def _not_alone(rows: Rows, demand: Demand, prospects: Prospects) -> Bools:
    """Rows on which not only what is free decides, so that filters are asked with pods gone."""
    closed = ~demand.open[rows]
    if demand.alone:
        return closed
    if demand.others is None:
        return np.ones(len(rows), np.bool_)
    return demand.others.matter[rows] | closed | prospects.among_others(rows)
