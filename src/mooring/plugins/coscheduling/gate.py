"""The gate: members stay out of the queue until their gang is complete, and then one stands there for all.

Messages are Koordinator's, or Kubernetes' for gangs declared its way.
"""

from __future__ import annotations

from mooring.framework.api.handle import Handle
from mooring.plugins.coscheduling.following import Following
from mooring.workloads.gang import Member, State
from mooring.workloads.gang_table import Gangs

RESTS = "{}: one of its pods found no place, and all are tried again in a while"
REPRESENTED = "representative pod {} of gangGroupID {} already exists"


class Gate:
    """Says why a member may not be tried; "" when it may."""

    def __init__(self, gangs: Gangs, following: Following, handle: Handle) -> None:
        self._gangs = gangs
        self._following = following
        self._handle = handle

    def pass_(self, member: Member) -> str:
        """At the queue: a member that may enter stands there for its whole group from now on."""
        message = self._standing(member)
        group = member.gang.group
        if message:
            group.held[member.uid] = member
        else:
            group.held.pop(member.uid, None)
        return message

    def check(self, member: Member) -> str:
        """Whether its group can be tried, whoever stands for it."""
        gang = member.gang
        if mistake := self._gangs.mistake(member):
            return mistake
        if gang.terms is None:
            return gang.dialect.not_there(gang.id, member.pod)
        if gang.terms.mistakes:
            return "; ".join(gang.terms.mistakes)
        return "" if gang.group.lets_alone(gang) else gang.group.problem()

    def _standing(self, member: Member) -> str:
        group = member.gang.group
        if message := self.check(member):
            if group.representative == member.uid:
                group.representative = ""
            self._tell_mistake(member)
            self._handle.give_up_nomination(member.pod)  # room made for a gang that cannot start is others'
            return message
        if member.state is not State.PENDING or not group.needed():
            return ""
        if self._handle.judged_outside(member.pod):
            return RESTS.format(group.title) if self._handle.now < group.rests_until else ""
        if group.representative in ("", member.uid):
            group.representative = member.uid
            return ""
        standing = self._gangs.members[group.representative].pod
        return REPRESENTED.format(standing.key, group.id)

    def _tell_mistake(self, member: Member) -> None:
        terms = member.gang.terms
        mistake = self._gangs.mistake(member) or "; ".join(() if terms is None else terms.mistakes)
        if mistake:
            self._following.tell(member, mistake)
