"""Pods that extenders have a say about who makes room for.

The nodes on which room could be made are shown to one extender after the other, each with the pods that
would have to go; each may leave out nodes and pods. The pod holds no place meanwhile. With the last
answer it goes on as from the queue: if it fits by now, it needs no room to be made.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from mooring.config.scheduler import Extender
from mooring.engine.attempt import Attempt, Settled
from mooring.engine.cycle.scheduling_cycle import SchedulingCycle
from mooring.engine.decisions import Consult
from mooring.engine.events import Consulted
from mooring.engine.outcomes import Outcome
from mooring.engine.parts import Outside
from mooring.engine.placement.fit_error import FitError, overlaid
from mooring.engine.queue.hints import EXTENDER
from mooring.extender.wire import (
    AnswerError,
    MetaPod,
    MetaVictims,
    PreemptionArgs,
    Victims,
    encode,
    named,
    read_preemption,
)
from mooring.framework.api.offers import Answered, Offer, Room
from mooring.model.objects import Pod

log = logging.getLogger("mooring.extenders")

NO_VICTIMS = 'expected at least one victim pod on node "{}"'
NO_NODE = 'nodeinfo not found for node name "{}"'
NOT_THERE = (
    "extender: {url} claims to preempt pod (UID: &{{{uid}}}) on node: {node}, "
    "but the pod is not found on that node"
)

Rooms = Mapping[str, Room]  # by the name of the node


class Offered:
    """One parked pod, the room that is left, and the extenders still to be asked."""

    def __init__(
        self,
        attempt: Attempt,
        number: int,
        plugin: str,
        offer: Offer,
        extenders: list[int],
        reasons: Sequence[str],
    ) -> None:
        self.queued = attempt.queued
        self.pod = attempt.pod  # as transformers made it: what extenders are shown
        self.refused = attempt.refused
        self.number = number
        self.extenders = extenders
        self.awaited = -1
        self.left: Rooms = {room.node: room for room in offer.rooms}
        self._plugin = plugin
        self._offer = offer
        self._reasons = tuple(reasons)

    @property
    def asked(self) -> int:
        """The extender that has not answered."""
        return self.awaited

    @property
    def about(self) -> str:
        return "who may be evicted"

    def expects(self, event: Consulted) -> bool:
        return event.number == self.number and event.extender == self.awaited

    def settled(self, failure: str) -> Settled:
        order = [room.node for room in self._offer.rooms]
        names = [name for name in order if name in self.left] + [n for n in self.left if n not in order]
        left = tuple(self.left[name] for name in names)
        answered = Answered(self._offer.rooms, () if failure else left, failure)
        return Settled(self._plugin, self._offer.settle, answered, self._reasons)


class Offering:
    """Asks extenders about offers. `judges` knows which pods have their nodes filtered outside."""

    def __init__(self, judges: Outside, cycle: SchedulingCycle, extenders: Sequence[Extender]) -> None:
        self._judges = judges
        self._cycle = cycle
        self._parts = cycle.parts
        self._all = extenders

    def next(self, offered: Offered) -> Consult:
        """The next question."""
        offered.awaited = number = offered.extenders.pop(0)
        extender, pod, rooms = self._all[number], offered.pod, offered.left.values()
        if extender.node_cache_capable:
            meta = {room.node: _meta(room) for room in rooms}
            body = PreemptionArgs(pod, node_name_to_meta_victims=meta)
        else:
            full = {room.node: Victims(room.victims, room.violations) for room in rooms}
            body = PreemptionArgs(pod, node_name_to_victims=full)
        asked = offered.number, len(rooms)
        return Consult(offered.queued.pod, number, extender.preempt_verb, encode(body), *asked)

    def take_in(self, offered: Offered, event: Consulted) -> str:
        """Takes an answer in. Returns what went wrong, if that matters."""
        extender = self._all[event.extender]
        try:
            if event.error:
                raise AnswerError(event.error)
            offered.left = self._left(offered, read_preemption(event.answer), extender)
        except AnswerError as error:
            if not extender.ignorable:
                return named(extender.url_prefix, error)
            log.warning("extender %s is skipped: %s", extender.url_prefix, error)
        return ""

    def _left(self, offered: Offered, named: Mapping[str, MetaVictims], extender: Extender) -> Rooms:
        """The room an extender leaves; AnswerError when it names what is not there."""
        left = {}
        for name, victims in named.items():
            known = offered.left.get(name)
            if known is None and name not in self._parts.cluster.nodes.rows:
                raise AnswerError(NO_NODE.format(name))
            pods = tuple(self._pod(known, name, each.uid, extender) for each in victims.pods)
            if pods:
                left[name] = Room(name, pods, victims.violations)
            elif not extender.ignorable:
                raise AnswerError(NO_VICTIMS.format(name))
            else:
                log.warning("extender %s names no victims on node %s", extender.url_prefix, name)
        return left

    def _pod(self, room: Room | None, node: str, uid: str, extender: Extender) -> Pod:
        """A pod by its uid: one that was asked about, or another on the node."""
        for victim in room.victims if room is not None else ():
            if victim.uid == uid:
                return victim
        placed = self._parts.cluster.pods.by_uid.get(uid)
        if placed is None or placed.node != node:
            raise AnswerError(NOT_THERE.format(url=extender.url_prefix, uid=uid, node=node))
        return placed.pod

    def go_on(self, offered: Offered, failure: str, attempt: Attempt) -> Outcome:
        """Looks at the pod afresh. Where extenders filter, a node that fits by now was not asked about."""
        cycle, placer = self._cycle, self._parts.placer
        attempt.settled = offered.settled(failure)
        if (end := cycle.search.prepare(attempt)) is not None:
            return end
        if not self._judges.judge(attempt.pod):
            found = placer.place(attempt)
            if not isinstance(found, FitError):
                return cycle.places.take(attempt, found)
        else:
            rows = self._parts.cluster.nodes.rows
            refused = {rows[name]: status for name, status in offered.refused.items() if name in rows}
            found = placer.why_not(attempt)
            found = overlaid(found, refused, EXTENDER) if refused else found
        return cycle.failures.way_out(attempt, found)


def _meta(room: Room) -> MetaVictims:
    return MetaVictims(tuple(MetaPod(victim.uid) for victim in room.victims), room.violations)
