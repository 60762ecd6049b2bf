"""Pods that HTTP extenders have a say about: parked while an extender is asked, then carried on with.

A pod is tried as far as the filters, and the nodes that pass are what the extenders are asked about: to
filter, one after the other; then to prioritize, all at once. Nothing is reserved meanwhile and other
pods are decided, so with the last answer everything is looked at afresh, among the nodes that are left.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial

import msgspec
import numpy as np

from mooring.cluster.columns import Bools
from mooring.config.scheduler import Extender
from mooring.engine.attempt import Attempt
from mooring.engine.cycle.scheduling_cycle import SchedulingCycle, Step
from mooring.engine.decisions import Bind, Consult, Decision
from mooring.engine.events import Consulted
from mooring.engine.extenders.parked_pod import NOTHING_LEFT, Consultation, Left
from mooring.engine.extenders.preemption_offers import Offered, Offering
from mooring.engine.outcomes import PARKED, Failed, Outcome
from mooring.engine.placement.fit_error import overlaid
from mooring.engine.placement.full_evaluation import rows_mask
from mooring.engine.queue.hints import EXTENDER
from mooring.engine.story import JUDGED, SCORED_OUTSIDE, Judged
from mooring.extender.wire import (
    AnswerError,
    ExtenderArgs,
    NodeList,
    encode,
    named,
    read_filter,
    read_priorities,
)
from mooring.framework.api.offers import Offer
from mooring.model.objects import Container, Pod

log = logging.getLogger("mooring.extenders")

ASKED = "waits for extender {extender}, which is asked {what}"


class Extenders:
    """The extenders of a configuration, and the pods that wait for them by uid."""

    def __init__(self, cycle: SchedulingCycle, extenders: Sequence[Extender]) -> None:
        self._cycle = cycle
        self._parts = cycle.parts
        self._all = extenders
        order = asking_order(extenders)
        self._filters = [n for n in order if extenders[n].filter_verb]
        self._prioritizers = [n for n in order if extenders[n].prioritize_verb]
        self._binders = [n for n in order if extenders[n].bind_verb]
        self._preempters = [n for n in order if extenders[n].preempt_verb]
        self._judges = tuple(dict.fromkeys((*self._filters, *self._prioritizers)))
        self._offering = Offering(self, cycle, extenders)
        self.consulting: dict[str, Consultation | Offered] = {}
        self._number = 0
        self._node_names = np.array([], object)
        self._named_at = -1

    def judge(self, pod: Pod) -> bool:
        """Whether some extender filters or prioritizes nodes for the pod."""
        return bool(self._interested(self._judges, pod))

    def judge_preemption(self, pod: Pod) -> bool:
        """Whether some extender has a say in who makes room for the pod."""
        return bool(self._interested(self._preempters, pod))

    def binding(self, bind: Bind) -> Bind:
        """The decision, left to the extender that binds such pods if there is one."""
        for number in self._interested(self._binders, bind.pod):
            return msgspec.structs.replace(bind, extender=number)
        return bind

    def asked_about(self, uid: str) -> str:
        """What the pod waits to hear of an extender, in words; "" when it does not."""
        parked = self.consulting.get(uid)
        if parked is None:
            return ""
        extender = self._all[parked.asked]
        return ASKED.format(extender=extender.url_prefix, what=parked.about)

    def forget(self, uid: str) -> None:
        """The pod is gone, or has its place: answers that still come are for nobody."""
        self.consulting.pop(uid, None)

    def start_over(self) -> None:
        """Nodes that passed the filters of other plugins are nothing to go on with: pods are tried anew."""
        for uid, parked in list(self.consulting.items()):
            self.forget(uid)
            self._parts.queue.put_back(parked.queued, self._parts.now)

    # asking

    def offer(self, attempt: Attempt, plugin: str, offer: Offer, reasons: Sequence[str]) -> bool:
        """Parks a pod that room could be made for. False: there is nobody, or nothing, to ask about it."""
        preempters = self._interested(self._preempters, attempt.pod)
        if not preempters or not offer.rooms:
            return False
        self._number += 1
        offered = Offered(attempt, self._number, plugin, offer, preempters, reasons)
        self._wait_for(offered)
        attempt.decisions.append(self._offering.next(offered))
        return True

    def begin(self, attempt: Attempt) -> Outcome:
        """Parks a pod that is ready for the filters. The node it is nominated to is tried alone first."""
        own = self._parts.placer.own(attempt)
        if own is None:
            return self._begin_with(attempt)
        left = self._left(rows_mask(self._parts.cluster.nodes.high, [own]))
        return self._park(attempt, left, nominated=True)

    def _begin_again(self, attempt: Attempt) -> Outcome:
        """The node the pod was nominated to will not do: all nodes are looked at."""
        end = self._cycle.search.prepare(attempt)
        return self._begin_with(attempt) if end is None else end

    def _begin_with(self, attempt: Attempt) -> Outcome:
        ok = self._parts.placer.feasible(attempt)
        if ok.any():
            return self._park(attempt, self._left(ok), nominated=False)
        return self._cycle.failures.way_out(attempt, self._parts.placer.why_not(attempt))

    def _left(self, ok: Bools) -> Left:
        """Nodes by row and by name; all names are kept until some node changes."""
        nodes = self._parts.cluster.nodes
        position = nodes.node_journal.position
        if position != self._named_at:
            self._named_at = position
            self._node_names = np.array([node.name if node else "" for node in nodes.objects], object)
        return Left(tuple(self._node_names[: len(ok)][ok].tolist()), ok, position)

    def _park(self, attempt: Attempt, left: Left, *, nominated: bool) -> Outcome:
        self._number += 1
        filters = self._interested(self._filters, attempt.pod)
        consultation = Consultation(attempt.queued, attempt.pod, self._number, left, filters, nominated)
        questions = self._next(consultation)
        if not questions:  # a single node, and nobody filters: there is nothing to prioritize
            return self._finish(consultation, attempt)
        self._wait_for(consultation)
        attempt.decisions.extend(questions)
        return PARKED

    def _wait_for(self, parked: Consultation | Offered) -> None:
        uid = parked.queued.pod.metadata.uid
        self.consulting[uid] = parked
        self._parts.words.owe(uid, self._parts.now)

    def _next(self, consultation: Consultation) -> list[Decision]:
        """The next questions; none when everything is known."""
        if consultation.filters:
            number = consultation.filters.pop(0)
            return [self._question(consultation, number, self._all[number].filter_verb)]
        if consultation.scoring or len(consultation.left.names) < 2:
            return []
        consultation.scoring = True
        return [
            self._question(consultation, number, self._all[number].prioritize_verb)
            for number in self._interested(self._prioritizers, consultation.pod)
        ]

    def _question(self, consultation: Consultation, number: int, verb: str) -> Consult:
        consultation.awaited.add(number)
        names, pod = consultation.left.names, consultation.pod
        if self._all[number].node_cache_capable:
            body = ExtenderArgs(pod, node_names=tuple(names))
        else:
            nodes = self._parts.cluster.nodes
            known = (nodes.object_at(nodes.rows[name]) for name in names if name in nodes.rows)
            body = ExtenderArgs(pod, nodes=NodeList(tuple(known)))
        asked = consultation.number, len(names)
        return Consult(consultation.queued.pod, number, verb, encode(body), *asked)

    def _interested(self, numbers: Sequence[int], pod: Pod) -> list[int]:
        return [number for number in numbers if is_interested(self._all[number], pod)]

    # answers

    def heard(self, event: Consulted) -> list[Decision]:
        """Carries on with the pod an answer is for."""
        uid = event.pod.metadata.uid
        consultation = self.consulting.get(uid)
        if consultation is None or not consultation.expects(event):
            return []
        if isinstance(consultation, Offered):
            return self._heard_of_offer(consultation, event)
        consultation.awaited.discard(event.extender)
        if consultation.scoring:
            self._score(consultation, event)
        elif (failure := self._filter(consultation, event)) and not consultation.nominated:
            return self._end(consultation, partial(_failed, failure))
        elif failure:
            consultation.left = NOTHING_LEFT
        return self._carry_on(consultation)

    def _carry_on(self, consultation: Consultation) -> list[Decision]:
        if consultation.awaited:
            return []
        if consultation.left.names and (questions := self._next(consultation)):
            self._wait_for(consultation)
            return questions
        if consultation.nominated and not consultation.left.names:
            return self._end(consultation, self._begin_again)
        return self._end(consultation, partial(self._finish, consultation))

    def _filter(self, consultation: Consultation, event: Consulted) -> str:
        """Takes a filter's answer in. Returns what went wrong, if that matters."""
        extender = self._all[event.extender]
        try:
            if event.error:
                raise AnswerError(event.error)
            found = read_filter(event.answer, by_name=extender.node_cache_capable)
            consultation.narrow(found, self._parts.cluster.nodes, extender.url_prefix)
        except AnswerError as error:
            if not extender.ignorable:
                return named(extender.url_prefix, error)
            log.warning("extender %s is skipped: %s", extender.url_prefix, error)
        return ""

    def _score(self, consultation: Consultation, event: Consulted) -> None:
        """Takes scores in. An extender that fails here has no say; the others still do."""
        extender = self._all[event.extender]
        try:
            if event.error:
                raise AnswerError(event.error)
            consultation.add(read_priorities(event.answer), extender.weight)
        except AnswerError as error:
            log.warning("extender %s does not prioritize: %s", extender.url_prefix, error)

    def _heard_of_offer(self, offered: Offered, event: Consulted) -> list[Decision]:
        failure = self._offering.take_in(offered, event)
        if offered.extenders and offered.left and not failure:
            self._wait_for(offered)
            return [self._offering.next(offered)]
        return self._end(offered, partial(self._offering.go_on, offered, failure))

    def _end(self, consultation: Consultation | Offered, step: Step) -> list[Decision]:
        """Nothing is awaited any more: the pod goes on as from the queue, on the cluster as it is."""
        queued = consultation.queued
        self.consulting.pop(queued.pod.metadata.uid, None)
        if queued.pod.terminating:
            self._parts.queue.delete(queued.pod.metadata.uid)
            return []
        return self._cycle.run(queued, step)

    def _finish(self, consultation: Consultation, attempt: Attempt) -> Outcome:
        """Takes the best of the nodes that are left, or says why none is."""
        nodes, placer = self._parts.cluster.nodes, self._parts.placer
        if (end := self._cycle.search.prepare(attempt)) is not None:
            return end
        known, narrowed = nodes.rows, attempt.narrowed
        left = consultation.left.rows(nodes)
        if consultation.dropped:
            attempt.cycle.write(JUDGED, Judged.of(left, consultation.reasons()))
        if narrowed is not None:
            left = left & rows_mask(len(left), (known[name] for name in narrowed.names if name in known))
        if bonus := consultation.bonus(known):
            attempt.cycle.write(SCORED_OUTSIDE, True)
        choice = placer.best_of(attempt, left, bonus)
        if choice is not None:
            return self._cycle.places.take(attempt, choice)
        why = placer.why_not(attempt)
        if consultation.dropped:
            attempt.refused = consultation.statuses
            given = {known[name]: status for name, status in consultation.statuses.items() if name in known}
            why = overlaid(why, given, EXTENDER)
        return self._cycle.failures.way_out(attempt, why)


def _failed(message: str, attempt: Attempt) -> Outcome:
    return Failed(message, EXTENDER)


def is_interested(extender: Extender, pod: Pod) -> bool:
    """An extender that manages no resource wants every pod, others those that name one of theirs."""
    if not extender.managed_resources:
        return True
    managed = {resource.name for resource in extender.managed_resources}
    return any(_names(container, managed) for container in (*pod.spec.containers, *pod.spec.init_containers))


def asking_order(extenders: Sequence[Extender]) -> tuple[int, ...]:
    """As configured, with those whose failure does not matter last."""
    return tuple(sorted(range(len(extenders)), key=lambda index: extenders[index].ignorable))


def _names(container: Container, managed: set[str]) -> bool:
    resources = container.resources
    return not managed.isdisjoint(resources.requests) or not managed.isdisjoint(resources.limits)
