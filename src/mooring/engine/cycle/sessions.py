"""Sessions: plugins of the session model see one attempt from its opening to its close."""

from __future__ import annotations

from mooring.engine.attempt import Attempt
from mooring.engine.parts import Parts
from mooring.framework.api import answers
from mooring.framework.api.session import Session, session_of
from mooring.framework.api.status import Status


def open_session(parts: Parts, attempt: Attempt) -> None:
    """Whatever comes of it, the session is to be closed."""
    attempt.session = session = session_of(parts.view, attempt.pod, attempt.cycle.now)
    for name, method, _ in attempt.profile.at("on_session_open"):
        with session.registering(name):
            answers.call(name, "on_session_open", method, session)
    parts.observe(session)


def close_session(parts: Parts, attempt: Attempt) -> None:
    parts.observe(None)
    for name, method, _ in attempt.profile.at("on_session_close"):
        try:
            method(attempt.session)
        except BaseException as error:
            answers.raised(name, "on_session_close", error)  # logged; the pod is decided already


def refusal(session: Session) -> Status | None:
    """Why a session lets its pod have no node at all, if it does not."""
    job = session.jobs[0]
    refused: Status | None = session.hooks.ask("pre_predicate", job.tasks[0], job)
    return refused
