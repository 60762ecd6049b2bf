"""The gate: members stay out of the queue until their gang is complete, and then one stands there for all.

Messages are Mooring's, or Kubernetes' for gangs declared its way.
"""

from __future__ import annotations

from typing import NamedTuple

from mooring.framework.api.handle import Handle
from mooring.plugins.coscheduling.following import Following
from mooring.workloads.gang import Member, State
from mooring.workloads.gang_table import Gangs
from mooring.workloads.gang_words import disagreement

RESTS = "{}: one of its pods found no place, and all are tried again in a while"
INCOMPLETE = "its gang cannot be tried yet"  # why not is told when it is asked for: few pods wait that long
REPRESENTED = "{}: {} is tried for all of its pods"


class Answer(NamedTuple):
    """Why a member may not be tried, "" when it may; and whether that is over by itself soon."""

    message: str
    passing: bool = False


MAY_PASS = Answer("")


class Gate:
    """Says why a member may not be tried."""

    def __init__(self, gangs: Gangs, following: Following, handle: Handle) -> None:
        self._gangs = gangs
        self._following = following
        self._handle = handle

    def pass_(self, member: Member) -> Answer:
        """At the queue: a member that may enter stands there for its whole group from now on."""
        answer = self._standing(member)
        group = member.gang.group
        if answer.message:
            group.held[member.uid] = member
        else:
            group.held.pop(member.uid, None)
        if ignored := disagreement(member):
            self._following.warn(member, ignored)
        return answer

    def check(self, member: Member, *, briefly: bool = False) -> str:
        """Why its group cannot be tried, whoever stands for it; "" when it can."""
        gang = member.gang
        if mistake := self._gangs.mistake(member):
            return mistake
        if gang.terms is None:
            return gang.dialect.not_there(gang.id, member.pod)
        if gang.terms.mistakes:
            return "; ".join(gang.terms.mistakes)
        group = gang.group
        if group.lets_alone(gang) or group.can_be_tried():
            return ""
        return INCOMPLETE if briefly else group.problem()

    def _standing(self, member: Member) -> Answer:
        group = member.gang.group
        if message := self.check(member, briefly=True):
            if group.representative == member.uid:
                group.representative = ""
            self._tell_mistake(member)
            self._handle.give_up_nomination(member.pod)  # room made for a gang that cannot start is others'
            return Answer(message)
        if member.state is not State.PENDING or not group.needed():
            return MAY_PASS
        if self._handle.judged_outside(member.pod):
            rests = self._handle.now < group.rests_until
            return Answer(RESTS.format(group.title), passing=True) if rests else MAY_PASS
        if group.representative in ("", member.uid):
            group.representative = member.uid
            return MAY_PASS
        standing = self._gangs.members[group.representative].pod
        return Answer(REPRESENTED.format(group.title, standing.key), passing=True)

    def _tell_mistake(self, member: Member) -> None:
        terms = member.gang.terms
        mistake = self._gangs.mistake(member) or "; ".join(() if terms is None else terms.mistakes)
        if mistake:
            self._following.tell(member, mistake)
