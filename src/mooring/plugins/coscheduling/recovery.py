"""Gangs of which only some members are bound: left so by a scheduler that died, or run down since.

A gang started once as many members were bound at the same time as it needs. Before that, members that were
bound a short while ago wait for the rest, which is tried as a group; when it does not come within the gang's
waiting time, they give their places back. Members that have been bound for longer than that belong to a
gang that has started and lost some.
"""

from __future__ import annotations

from mooring.workloads.gang import State
from mooring.workloads.gang_group import GangGroup
from mooring.workloads.written_values import moment

GIVEN_BACK = "GangIncomplete"
MESSAGE = (
    "{title}: only {bound} of the {least} members it needs are bound, and the others found no place within "
    "{wait}: its places are given back"
)


def look(group: GangGroup, now: float) -> None:
    """Finds out whether the group has started, and begins to wait for the rest of one that is partly so."""
    if not group.satisfied and group.any_bound():
        group.satisfied = group.all_bound()
    elif not group.satisfied:
        group.started, group.recover_until, group.gives_back = False, None, False
        return
    if group.satisfied:
        group.started, group.recover_until, group.gives_back = True, None, False
    elif group.recover_until is None:
        group.started = not group.gives_back and not _is_fresh(group, now)
        group.recover_until = None if group.started else now + group.wait_s


def _is_fresh(group: GangGroup, now: float) -> bool:
    """Whether members that are bound may still wait for the rest. Those of NonStrict gangs do not."""
    strict = any(gang.strict and len(gang.bound) for gang in group.gangs())
    return strict and now - youngest(group, now) < group.wait_s


def youngest(group: GangGroup, now: float) -> float:
    """When the member that was bound last started; one that does not say has just been bound."""
    starts = [moment(member.pod.status.start_time) for member in group.members(State.BOUND)]
    return max(now if start is None else start for start in starts)


def message(group: GangGroup, wait: str) -> str:
    bound = sum(len(gang.bound) for gang in group.gangs())
    return MESSAGE.format(title=group.title, bound=bound, least=group.least, wait=wait)
