"""Points that nobody has asked in all rounds, or that always said the same."""

from __future__ import annotations

from typing import Any

from mooring.testing.conformance import findings
from mooring.testing.conformance.findings import Finding
from mooring.testing.conformance.subject import Subject

FORMS = {"filter": ("filter", "filter_nodes"), "score": ("score", "score_nodes")}
ENOUGH = 20  # calls to say no at
SESSION = ("predicate", "pre_predicate")
STATUSES = frozenset({"unschedulable", "unresolvable", "pending", "wait", "Status"})


def untried(subject: Subject, rounds: int) -> Finding | None:
    """What was not tried, if anything."""
    watch = subject.watch
    for point in subject.points:
        if not watch.calls[point]:
            what = f"was never once called in {rounds} rounds"
            return Finding("never", point, what, findings.SHOW_ONE)
    asked = ["filter"] if {"filter", "filter_nodes"} & set(subject.points) else []
    asked += [
        point
        for point in ("permit", "pre_enqueue")
        if point in subject.points and _can_refuse(subject, point)
    ]
    for point in (*asked, *(kind for kind in SESSION if watch.calls[kind])):
        if not watch.no[point] and _calls(subject, point) >= ENOUGH:
            what = f"never once says no: {_calls(subject, point)} calls{_read(subject)}"
            return Finding("never no", point, what, findings.SHOW_ONE)
    for point in ("filter", "reserve", "permit", "pre_bind"):
        if watch.calls[point] and not watch.yes[point]:
            what = f"never once lets a pod pass: {_calls(subject, point)} calls{_read(subject)}"
            return Finding("never yes", point, what, findings.SHOW_ONE)
    return None


def _calls(subject: Subject, point: str) -> int:
    return sum(subject.watch.calls[form] for form in FORMS.get(point, (point,)))


def _read(subject: Subject) -> str:
    read = [f"{role} {key}" for role, keys in subject.vocabulary.read.items() for key in keys]
    return f"; it reads {', '.join(read)}" if read else ""


def _can_refuse(subject: Subject, point: str) -> bool:
    """Whether the method has anything to refuse with. One that only follows what happens has not."""
    code: Any = getattr(getattr(subject.policy, point), "__code__", None)
    return (
        code is None
        or bool(STATUSES & set(code.co_names))
        or any(name.startswith("_") for name in code.co_names)
    )
