"""The table of gangs beside one that is made anew from the pods and objects that are there."""

from __future__ import annotations

from typing import Any

from mooring.errors import InvariantError
from mooring.workloads.gang import Gang
from mooring.workloads.gang_table import Gangs


def compare(known: Gangs, fresh: Gangs) -> None:
    """Raises InvariantError unless both have the same gangs with the same members."""
    if known.gangs.keys() != fresh.gangs.keys():
        raise InvariantError(f"gangs {sorted(known.gangs)} are known and {sorted(fresh.gangs)} are there")
    for key, gang in known.gangs.items():
        found = fresh.gangs[key]
        kept, anew = _members(gang), _members(found)
        if _terms_are_clear(found):
            kept, anew = kept | _terms(gang), anew | _terms(found)
        if kept != anew:
            raise InvariantError(f"gang {key}: {kept} is known and {anew} is there")


def _members(gang: Gang) -> dict[str, Any]:
    return {uid: (member.declared, member.standing) for uid, member in gang.members.items()}


def _terms(gang: Gang) -> dict[str, Any]:
    return {"terms": (gang.terms, gang.by_object, gang.policy, gang.wait_s, gang.group.key)}


def _terms_are_clear(gang: Gang) -> bool:
    """Of pods that say different things the first is believed; it need not be there any more."""
    said = {member.declared.terms for member in gang.members.values() if member.declared.terms is not None}
    return gang.by_object or len(said) < 2
