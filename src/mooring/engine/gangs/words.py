"""What is said of a group that cannot start: how many would have a place, and what the others lack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from mooring.engine.placement.fit_error import FitError
from mooring.framework.api.grouping import Group

INSUFFICIENT = "Insufficient "


STRICT = ", and it starts with all of them or none"


def cannot_start(
    group: Group, placed: int, failures: Iterable[FitError], more: str = "", *, of_all: int = 0
) -> str:
    """`gang default/train: 6 of 8 can be placed; 2 lack nvidia.com/gpu`. `of_all`: so many must be."""
    needed = of_all or max(group.needed, 1)
    text = f"{group.title}: {min(placed, needed)} of {needed} can be placed"
    text += STRICT if of_all > group.needed else ""
    missing = needed - placed
    said = Counter(_what_is_missing(why) for why in failures)
    if len(said) == 1 and missing > 0:
        said = Counter({next(iter(said)): min(missing, said.total())})
    parts = [f"{count} {_verb(count, what)}" for what, count in said.most_common()]
    text = "; ".join([text, ", ".join(parts)]) if parts else text
    return f"{text}; {more}" if more else text


def not_let_go(group: Group, reasons: Iterable[str]) -> str:
    """All have a place, and yet they may not start."""
    why = ", ".join(dict.fromkeys(reason for reason in reasons if reason))
    return f"{group.title}: {why or 'its members have places and must wait for others'}"


def _what_is_missing(why: FitError) -> tuple[str, str]:
    """The resources most nodes have too little of, and all reasons when there are others too."""
    if why.pre_filter_message:
        return ("", why.pre_filter_message)
    reasons = why.histogram()
    short = {
        reason.removeprefix(INSUFFICIENT): count
        for reason, count in reasons.items()
        if reason.startswith(INSUFFICIENT)
    }
    if not short:
        return ("", why.message())
    most = max(short.values())
    names = sorted(name for name, count in short.items() if count == most)
    return (" and ".join(names), "" if len(reasons) == len(short) else why.message())


def _verb(count: int, what: tuple[str, str]) -> str:
    if what[0]:
        said = f"{'lacks' if count == 1 else 'lack'} {what[0]}"
        return f"{said} ({what[1].rstrip('.')})" if what[1] else said
    return f"{'fits' if count == 1 else 'fit'} nowhere: {what[1].rstrip('.')}"
