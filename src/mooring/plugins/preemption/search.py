"""Looks for the best node to preempt on: begins anywhere, and stops when enough candidates are known."""

from __future__ import annotations

from collections import Counter

import numpy as np

from mooring.cluster.columns import Bools, Rows
from mooring.framework.answers import Statuses
from mooring.framework.status import Code
from mooring.framework.trial import Demand
from mooring.model.objects import Pod
from mooring.plugins.preemption.choice import Candidate, better
from mooring.plugins.preemption.coverage import Coverage
from mooring.plugins.preemption.dry_run import ALL_STAY, NO_VICTIMS_REASON, DryRun
from mooring.plugins.preemption.slots import PodSlots
from mooring.plugins.preemption.sweep import Ahead, Outcome, Sweep

FEWEST_AT_ONCE = 128  # nodes; fewer cost as much
NOT_HELPFUL = "Preemption is not helpful for scheduling"


class Search:
    """One search. `reasons` says why nodes are no candidates, `errors` what went wrong on the way."""

    def __init__(
        self,
        slots: PodSlots,
        pod: Pod,
        dry_run: DryRun,
        coverage: Coverage,
        ahead: Ahead,
        statuses: Statuses,
    ) -> None:
        self._slots = slots
        self._pod = pod
        self._dry_run = dry_run
        self._coverage = coverage
        self._ahead = ahead
        self._statuses = statuses
        self._wanted = 0
        self._found = 0
        self._without_violation = False
        self.examined = 0
        self.best: Candidate | None = None
        self.candidates: list[Candidate] | None = None  # all of them, when asked for
        self.reasons: Counter[str] = Counter()
        self.errors: list[str] = []

    def run(self, rows: Rows, wanted: int, demand: Demand | None) -> Candidate | None:
        """The best of at least so many candidates, if there are as many."""
        self._wanted = wanted
        step = max(wanted, FEWEST_AT_ONCE)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            self.examined += len(part)
            if demand is None:
                self._ask(part)
            else:
                self._sweep(part, demand)
            if self._enough:
                break
        return self.best

    @property
    def _enough(self) -> bool:
        return self._without_violation and self._found >= self._wanted

    def _sweep(self, rows: Rows, demand: Demand) -> None:
        """Sorts out where too much is missing; the rest is decided here, or by asking the filters."""
        sweep = Sweep(self._slots, rows, self._pod, demand.amounts, self._ahead, self._coverage)
        self.reasons[NO_VICTIMS_REASON] += int((~sweep.has_victims).sum())
        is_open = demand.open[rows]
        left = sweep.has_victims & ~self._fixed(sweep.has_victims & ~is_open, rows, demand)
        self.reasons += sweep.reasons(left & ~sweep.fits)
        left &= sweep.fits
        if not demand.alone:
            self._ask(rows[left])
            return
        self._ask(rows[left & ~is_open])
        self._decide(sweep, left & is_open)

    def _fixed(self, closed: Bools, rows: Rows, demand: Demand) -> Bools:
        """Rows rejected by a filter that looks at node objects alone: it would say the same again."""
        fixed: Bools = np.zeros(len(rows), np.bool_)
        for index in np.flatnonzero(closed).tolist():
            status = self._statuses[self._name(int(rows[index]))]
            if status.plugin in demand.static:
                self.reasons.update(status.reasons)
                fixed[index] = True
        return fixed

    def _decide(self, sweep: Sweep, among: Bools) -> None:
        if not among.any():
            return
        outcome = sweep.reprieve(among)
        for index in np.flatnonzero(among & (outcome.count == 0)).tolist():
            self.errors.append(ALL_STAY.format(self._name(int(sweep.rows[index]))))
        among = among & (outcome.count > 0)
        if not among.any():
            return
        among = self._cut(among, among & (outcome.violations == 0))
        self._found += int(among.sum())
        self._without_violation |= bool((among & (outcome.violations == 0)).any())
        if self.candidates is not None:
            self.candidates += [self._candidate(sweep, outcome, i) for i in np.flatnonzero(among).tolist()]
        self.best = better(self.best, self._candidate(sweep, outcome, outcome.best(among)))

    def _candidate(self, sweep: Sweep, outcome: Outcome, index: int) -> Candidate:
        row = int(sweep.rows[index])
        placed = self._slots.placed(row)
        victims = tuple(placed[slot] for slot in np.flatnonzero(outcome.victims[:, index]).tolist())
        return Candidate(row, victims, int(outcome.violations[index]))

    def _cut(self, among: Bools, clean: Bools) -> Bools:
        """Leaves out candidates that come after enough of them are known."""
        known = self._found + np.cumsum(among)
        enough = known >= self._wanted
        if not self._without_violation:
            enough &= np.cumsum(clean) > 0
        if not enough.any():
            return among
        cut = among.copy()
        cut[int(enough.argmax()) + 1 :] = False
        return cut

    def _ask(self, rows: Rows) -> None:
        for row in rows.tolist():
            answer = self._dry_run.on(row, self._name(row), self._slots.placed(row))
            if isinstance(answer, Candidate):
                self._found += 1
                self._without_violation |= not answer.violations
                self.best = better(self.best, answer)
                if self.candidates is not None:
                    self.candidates.append(answer)
                if self._enough:
                    return
            elif answer.code is Code.ERROR:
                self.errors.append(answer.message)
            else:
                self.reasons.update(answer.reasons)

    def _name(self, row: int) -> str:
        return self._slots.nodes.object_at(row).name
