"""Before nodes are asked for a pod: transformers, the round it joins, its class, pre-filters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from mooring.engine.attempt import Attempt
from mooring.engine.cycle.failures import Failures
from mooring.engine.cycle.pre_filtering import pre_filter, transform
from mooring.engine.outcomes import NO_NODE, NoNodes, Progress, Unfit
from mooring.engine.parts import Parts
from mooring.engine.placement.fit_error import rejected_before
from mooring.engine.story import NARROWED, REFUSED
from mooring.framework.api.session import alone
from mooring.framework.api.status import Status

T = TypeVar("T")
Ready = Unfit | Progress | None  # None: nodes can be asked


class NodeSearch:
    """Has a pod ready for the filters."""

    def __init__(self, parts: Parts, failures: Failures) -> None:
        self._parts = parts
        self._failures = failures
        self._pre_filter = pre_filter  # which a meter times

    def run(self, attempt: Attempt, step: Callable[[Attempt], T]) -> T | Unfit | Progress | NoNodes:
        """Takes a step with the pod as transformers make it, in a round if the profile opens sessions."""
        profile = attempt.profile
        if not self._parts.cluster.nodes.rows:
            return NO_NODE
        if profile.takes_pods_as_they_are:
            return step(attempt)
        if profile.ledgers:
            profile.begin(attempt.cycle, attempt.queued.pod)
        if profile.transforms_pods:
            changed = transform(profile, attempt.cycle, attempt.pod)
            if isinstance(changed, Status):
                return self._failures.rejected(attempt, changed)
            attempt.pod = changed
        if profile.opens_sessions and not attempt.together:  # those that are tried together have joined
            self._parts.rounds.join(profile, alone(attempt.pod), self._parts.now)
        return step(attempt)

    def prepare(self, attempt: Attempt) -> Ready:
        """Finds the pod's class and the only nodes to ask, as the pre-filters say."""
        profile, parts = attempt.profile, self._parts
        attempt.narrowed = None
        attempt.position, attempt.nominations = parts.cluster.history.position, parts.nominator.position
        if profile.takes_pods_as_they_are:
            attempt.pod_class = pod_class = parts.hooks.classes[profile.name].of(attempt.pod)
            return None if pod_class.goes_straight_on else self._narrow(attempt)
        if profile.ledgers:
            profile.begin(attempt.cycle, attempt.queued.pod)
        attempt.pod_class = pod_class = parts.classes(profile.name).of(attempt.pod)
        if not pod_class.goes_straight_on and (end := self._narrow(attempt)) is not None:
            return end
        if profile.opens_sessions and (refusal := parts.rounds.hear(attempt.cycle, attempt.pod)) is not None:
            return self._failures.rejected(attempt, refusal)
        return None

    def _narrow(self, attempt: Attempt) -> Ready:
        before = self._pre_filter(attempt.pod_class, attempt.cycle, attempt.pod)
        if before.rejection is not None:
            attempt.cycle.write(REFUSED, before.rejection)
            why = rejected_before(self._parts.cluster.nodes, before.rejection)
            if before.plugins:
                why = msgspec.structs.replace(why, plugins=why.plugins | frozenset(before.plugins))
            return self._failures.way_out(attempt, why)
        if before.narrowed is not None:
            attempt.cycle.write(NARROWED, before.narrowed)
            attempt.narrowed = before.narrowed
        return None
