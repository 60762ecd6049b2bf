"""Sessions: plugins of the session model see one attempt from its opening to its close."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mooring.engine.attempt import Attempt
from mooring.engine.full import session_of
from mooring.framework import answers
from mooring.framework.session import Session
from mooring.framework.status import Status, unschedulable

if TYPE_CHECKING:
    from mooring.engine.engine import Engine


def open_session(engine: Engine, attempt: Attempt) -> Session:
    session = session_of(engine.view, attempt.pod, attempt.cycle.now)
    for name, method, _ in attempt.profile.at("on_session_open"):
        answers.call(name, "on_session_open", method, session)
    engine.observe(session)
    return session


def close_session(engine: Engine, attempt: Attempt) -> None:
    engine.observe(None)
    for name, method, _ in attempt.profile.at("on_session_close"):
        try:
            method(attempt.session)
        except BaseException as error:
            answers.raised(name, "on_session_close", error)  # logged; the pod is decided already


def refusal(session: Session) -> Status | None:
    """Why a session lets its pod have no node at all, if it does not."""
    job = session.jobs[0]
    answer = answers.call("session", "pre_filter", session.hooks.ask, "pre_predicate", job.tasks[0], job)
    if answer is None:
        return None
    status = answer if isinstance(answer, Status) else unschedulable("rejected by a session")
    return status if status.plugin else status.by("session")
