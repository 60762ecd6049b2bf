"""A session stays open for a round: while one pod or gang of its profile after the other is decided.

A round begins with the first job of its profile that is tried. It ends when no pod is ready, before a node
changes or an object that its plugins look at, before another table of hooks comes into force, and at the
latest after so many jobs or so much time. All of that follows from what the engine is told, so that a
recording that is played again has the same rounds. The session hears of every place that is taken, given back
or lost meanwhile, whoever decides it, also while something is only tried.
"""

from __future__ import annotations

from collections import defaultdict

import msgspec

from mooring.cluster.cluster import Cluster
from mooring.cluster.view import ClusterView
from mooring.engine.placement.session_forms import FORMS, SESSION, Hearing
from mooring.engine.rounds.early_ends import LONGEST_S, MOST_JOBS, EarlyEnds, look_at
from mooring.engine.rounds.session_observer import SessionObserver, Underway
from mooring.errors import OverBudget, PluginFailed
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.session import Job, Session, session_of
from mooring.framework.api.status import Status
from mooring.framework.running.profile import Profile
from mooring.model.objects import Object, Pod


class Round(msgspec.Struct, eq=False):
    """One round of a profile."""

    profile: Profile
    session: Session
    observer: SessionObserver
    judges_by: tuple[str, ...] = ()  # the kinds of hooks by which nodes are judged
    failure: PluginFailed | None = None  # of a plugin that could not open it: nobody is placed in it
    jobs: int = 0
    outdated: bool = False  # an object has changed, and too many rounds were ended by one to end this one

    def is_over(self, now: float) -> bool:
        return self.jobs >= MOST_JOBS or now - self.session.now >= LONGEST_S or self._is_behind()

    def _is_behind(self) -> bool:
        """A plugin was not told all, or will not be: it has taken too long. The next round adds up again, or
        says so."""
        if self.failure is not None or not self.profile.ledgers:
            return False
        try:
            self.profile.refuse_handlers(self.session.hooks.handling())
        except OverBudget:
            return True
        return bool(self.session.hooks.missed)


class Rounds:
    """The rounds that are open, by profile."""

    def __init__(self, cluster: Cluster, view: ClusterView, attempt: Underway) -> None:
        self._attempt = attempt
        self._cluster = cluster
        self._view = view
        self.open: dict[str, Round] = {}
        self._early: defaultdict[str, EarlyEnds] = defaultdict(EarlyEnds)  # by profile

    def join(self, profile: Profile, job: Job, now: float) -> None:
        """A job is about to be tried. PluginFailed when a plugin could not open the session."""
        found = self.open.get(profile.name)
        if found is not None and (found.is_over(now) or (found.outdated and self._ends_early(found, now))):
            self._close(found)
            found = None
        if found is None:
            found = self._begin(profile, job, now)
        else:
            found.session.join(job)
        found.jobs += 1
        self._early[profile.name].jobs += 1
        if found.failure is not None:
            raise found.failure.with_traceback(None)

    def hear(self, cycle: Cycle, pod: Pod) -> Status | None:
        """Has the hooks of the open session asked about nodes from now on. Returns why it refuses the pod."""
        if (found := self.open.get(cycle.profile)) is None:
            return None
        hearing = Hearing(found.session, found.session.job_of(pod))
        refusal = hearing.refusal(pod)
        if found.judges_by or refusal is not None:
            cycle.write(SESSION, hearing)
        return refusal

    def close(self) -> None:
        """Every round is over."""
        for each in list(self.open.values()):
            self._close(each)

    def object_changes(self, found: Object, now: float) -> None:
        """Rounds whose plugins look at such an object are over, or outdated where too many were ended so."""
        for each in [each for each in self.open.values() if look_at(each.profile, found)]:
            if self._ends_early(each, now):
                self._close(each)
            else:
                each.outdated = True

    def _ends_early(self, found: Round, now: float) -> bool:
        early = self._early[found.profile.name]
        if may := early.allow(now):
            early.note(now)
        return may

    def _begin(self, profile: Profile, job: Job, now: float) -> Round:
        session = session_of(self._view, job, now)
        observer = SessionObserver(session.hooks, profile, self._cluster.books, self._attempt)
        begun = self.open[profile.name] = Round(profile, session, observer)
        for name, method, _ in profile.at("on_session_open"):
            try:
                profile.refuse_handlers([name])
                with session.registering(name, profile.timed_in_session):
                    answers.call(name, "on_session_open", method, session)
            except PluginFailed as failure:
                begun.failure = failure
                break
        begun.judges_by = tuple(kind for kind in FORMS if session.hooks.has(kind))
        self._observe()
        return begun

    def _close(self, over: Round) -> None:
        del self.open[over.profile.name]
        self._observe()
        for name, method, _ in over.profile.at("on_session_close"):
            try:
                method(over.session)
            except BaseException as error:
                answers.raised(name, "on_session_close", error)  # logged; the pods are decided already

    def _observe(self) -> None:
        self._cluster.observers = [each.observer for each in self.open.values()]
