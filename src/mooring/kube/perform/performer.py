"""Carries out decisions in a real cluster, and reports what came of them.

`perform` returns at once. Writes about one pod happen in the order they were decided; a `Bind` is answered
exactly once, by Bound or BindFailed, unless the performer is halted or it cannot be known what came of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from mooring.engine.cycle.event_words import waiting_words
from mooring.engine.decisions import (
    SCHEDULING_GATED,
    Bind,
    Consult,
    Decision,
    Evict,
    Look,
    Nominate,
    Refuse,
    Wait,
)
from mooring.engine.events import BindFailed, Bound, Consulted, Event, EvictFailed, PodDeleted
from mooring.errors import ApiError, MooringError
from mooring.extender.client import ExtenderClient
from mooring.framework.api.writes import Write
from mooring.framework.running.binding import (
    ENDED,
    LONGEST_BINDING_S,
    NOT_DONE,
    Binder,
    BindingFailed,
    BindingState,
    run_binding,
)
from mooring.kube.client import Client
from mooring.kube.http.call_slots import BINDING, STATUS, Slots
from mooring.kube.http.write_fence import NotLeading
from mooring.kube.perform.binding_api import KubeApi
from mooring.kube.perform.evictions import Evictions
from mooring.kube.perform.long_bindings import LongBindings
from mooring.kube.perform.object_writes import Writes, line_of, together
from mooring.kube.perform.ordered_tasks import TASKS, Job, Pool
from mooring.kube.perform.pod_statuses import Statuses, Wanted, condition_of, is_gone
from mooring.kube.record.recorder import Recorder
from mooring.kube.request_bodies import for_very
from mooring.kube.resources import PODS
from mooring.model.objects import Pod

log = logging.getLogger("mooring.kube")

ASKING = 64  # questions to extenders at a time; fewer than the connections an extender client has
PREEMPTED = "preempted"
FINISHED = ("Succeeded", "Failed")
NOBODY_ASKS = "an engine with extenders needs somebody to ask them"
STOPPING = "the scheduler is shutting down"


class Leftover(msgspec.Struct, frozen=True):
    """What was not carried out when the performer stopped."""

    given_back: int = 0  # binds never sent, told as failed
    unknown: tuple[str, ...] = ()  # pods whose bind was sent and not answered; nothing was told of them


class KubePerformer:
    """Does what is decided. `tell` takes what the engine has to know of it."""

    def __init__(
        self,
        client: Client,
        tell: Callable[[Event], None],
        *,
        recorder: Recorder,
        binding_state: Callable[[Bind], BindingState | None],
        slots: Slots | None = None,
        extenders: ExtenderClient | None = None,
        tasks: int = TASKS,
    ) -> None:
        self._client = client
        self._listener = tell
        self._recorder = recorder
        self._binding_state = binding_state
        self._extenders = extenders
        slots = slots or Slots()
        self._pool = Pool(tasks, slots.free)
        slots.on_free = self._pool.start_soon
        self._questions = Pool(ASKING)
        self.api = KubeApi(client, slots, parked=self._pool.parked)
        self._slots = slots
        self._statuses = Statuses(client, slots, self._pool.superseded)
        self._long = LongBindings(self._statuses, recorder)
        self.api.before_bind = self._long.told
        self._writes = Writes(client, slots)
        self._evictions = Evictions(self._pool, self._delete, self._tell, recorder, self.api.sleep)
        self._unsent: dict[str, Wanted] = {}  # statuses to be written, by pod key
        self._preempted: dict[str, Evict] = {}  # by uid: pods whose binding is being cancelled to make room
        self._given_back = 0
        self._unknown: list[str] = []
        self._closing = self._halted = False
        self._asked = 0
        self._doers: dict[type[Any], Callable[[Any], None]] = {
            Bind: self._perform_bind,
            Consult: self._perform_consult,
            Wait: self._perform_wait,
            Evict: self._perform_evict,
            Nominate: self._perform_nominate,
            Write: self._perform_write,
            Look: self._perform_look,
            Refuse: self._perform_refuse,
        }

    @property
    def backlog(self) -> int:
        """How many objects have something to be written. Who decides should not run far ahead of it."""
        return len(self._pool)

    def perform(self, decision: Decision) -> None:
        """Begins to carry out a decision. Must be called in the running loop."""
        if not self._closing:
            try:
                self._doers[type(decision)](decision)
            except Exception:  # whatever it is, it is about this one
                log.exception("beginning to carry out %s of %s", type(decision).__name__, _about(decision))
        elif isinstance(decision, Bind):
            self._give_back(decision)
        elif isinstance(decision, Evict):
            self._tell(EvictFailed(decision.pod, decision.by, STOPPING))

    def halt(self) -> None:
        """Stops at once: nothing is sent from now on, and nobody is told anything."""
        self._closing = self._halted = True
        self._evictions.drop()
        dropped = self._pool.drop()
        self._questions.drop()
        self._unsent.clear()
        if dropped:
            log.warning("halted; %d decisions are not carried out", len(dropped))

    async def drain(self, timeout: float) -> Leftover:
        """Takes nothing new, and ends what is under way within `timeout` seconds. The rest is given back."""
        self._closing = True
        if not self._halted:
            try:
                async with asyncio.timeout(timeout):
                    await self._finished()
            except TimeoutError:
                self._evictions.drop()
                for job in self._pool.drop():
                    self._drop(job)
                self._questions.drop()
        await self._pool.cancelled()
        await self._questions.cancelled()
        return Leftover(self._given_back, tuple(self._unknown))

    async def _finished(self) -> None:
        while len(self._pool) or self._evictions.open or len(self._questions):
            await self._pool.idle()
            await self._questions.idle()
            await asyncio.sleep(0)  # a group of evictions begins in the next round of the loop

    # binding

    def _perform_bind(self, decision: Bind) -> None:
        key = decision.pod.key
        if (
            self._unsent
            and (wanted := self._unsent.get(key)) is not None
            and wanted.nominated != decision.node
        ):
            del self._unsent[key]  # a pod that has a place does not wait for one
        self._pool.submit(key, self._bind, decision)

    async def _bind(self, decision: Bind) -> None:
        pod = decision.pod
        try:
            if (state := self._binding_state(decision)) is None:
                raise BindingFailed(ENDED)
            await self._binding(decision, state)
        except MooringError as error:
            self._failed(decision, str(error))
        except asyncio.CancelledError as error:
            if not _is_being_cancelled():  # a plugin waits for what it has cancelled itself
                self._failed(decision, "; ".join(getattr(error, "__notes__", ("binding: cancelled",))))
            elif not self._cancelled(decision):
                raise
        except Exception as error:
            log.exception("binding %s", pod.key)
            self._failed(decision, f"{type(error).__name__}: {error}")
        else:
            self._bound(decision)
        finally:
            self.api.sent.discard(pod.metadata.uid)
            if self.api.elsewhere:
                self.api.elsewhere.pop(pod.metadata.uid, None)

    def _binding(self, decision: Bind, state: BindingState) -> Coroutine[Any, Any, None]:
        pod, patch, profile = decision.pod, decision.patch, state.profile
        binder = self._binder(decision) if decision.extender is not None else None
        if patch:
            patch = for_very(pod, patch)
        binding = run_binding(profile, state.cycle, pod, decision.node, patch, self.api, binder)
        if profile.policies_bind:
            binding = _in_time(binding)
        if state.takes_long or profile.policies_bind:
            binding = self._long.follow(decision, state.at_work(), binding)
        return binding

    def _bound(self, decision: Bind) -> None:
        pod, node = decision.pod, decision.node
        self._statuses.forget(pod.metadata.uid)
        self._tell(Bound(pod, node))
        note = f"Successfully assigned {pod.key} to {node}"
        self._recorder.record("Normal", "Scheduled", "Binding", pod, note, controller=decision.profile)
        if self._preempted and (evict := self._preempted.pop(pod.metadata.uid, None)) is not None:
            self._evictions.perform(evict)  # its binding did not let itself be stopped

    def _failed(self, decision: Bind, message: str) -> None:
        elsewhere = self.api.elsewhere.pop(decision.pod.uid, "")
        self._tell(BindFailed(decision.pod, decision.node, message, elsewhere))
        if (evict := self._preempted.pop(decision.pod.uid, None)) is not None:
            self._evictions.record(evict, in_memory=True)

    def _cancelled(self, decision: Bind) -> bool:
        """Tells what came of a bind that was cancelled. True: only it was, not the whole performer."""
        pod = decision.pod
        if pod.uid in self._preempted:
            task = asyncio.current_task()
            assert task is not None
            task.uncancel()
            self._failed(decision, _why_called_off(self._preempted[pod.uid]))
            return True
        if pod.uid in self.api.sent:
            self._unknown.append(pod.key)
        else:
            self._give_back(decision)
        return False

    def _give_back(self, decision: Bind) -> None:
        self._given_back += 1
        self._tell(BindFailed(decision.pod, decision.node, STOPPING))

    def _drop(self, job: Job) -> None:
        if isinstance(job.subject, Bind):
            self._give_back(job.subject)

    def _binder(self, decision: Bind) -> Binder:
        number, extenders = decision.extender, self._extenders
        assert number is not None
        assert extenders is not None, NOBODY_ASKS

        async def bind(pod: Pod, node_name: str) -> bool:
            await self._long.told(pod.uid)
            self.api.sent.add(pod.uid)
            try:
                return await extenders.bind(number, pod, node_name)
            except MooringError:
                if await self.api.is_bound(pod, node_name):  # it did, and the answer got lost
                    return True
                raise

        return bind

    # waiting

    def _perform_wait(self, decision: Wait) -> None:
        pod = decision.pod
        if decision.reason != SCHEDULING_GATED:  # of which the API server has written the condition
            why = condition_of("PodScheduled", "False", decision.reason, decision.message)
            self._want(Wanted(pod, why, decision.nominated))
        type_, reason = waiting_words(decision)
        self._recorder.record(
            type_, reason, "Scheduling", pod, decision.message, controller=pod.spec.scheduler_name
        )

    def _perform_refuse(self, decision: Refuse) -> None:
        about, note = decision.about, decision.message
        self._recorder.record("Warning", "NotTakenIn", "TakingIn", about, note, controller=decision.profile)

    def _perform_nominate(self, decision: Nominate) -> None:
        self._want(Wanted(decision.pod, nominated=decision.node))

    def _want(self, wanted: Wanted) -> None:
        key = wanted.pod.key
        earlier = self._unsent.get(key)
        self._unsent[key] = wanted.after(earlier)
        if earlier is None:
            self._pool.submit(key, self._write_status, key, urgent=False)

    async def _write_status(self, key: str) -> None:
        wanted = self._unsent.pop(key, None)
        if wanted is None:
            return
        try:
            await self._statuses.write(wanted, STATUS)
        except ApiError as error:
            if is_gone(error):
                self._statuses.forget(wanted.pod.uid)
            elif not isinstance(error, NotLeading):  # whoever leads says why it waits
                log.warning("writing the status of %s: %s", key, error)

    # making room

    def _perform_evict(self, decision: Evict) -> None:
        if decision.in_memory:  # it has lost its place already, and goes on waiting
            self._evictions.record(decision, in_memory=True)
        elif not self._cancel_binding(decision):
            self._evictions.perform(decision)

    def _cancel_binding(self, decision: Evict) -> bool:
        """Stops the binding of a pod that has to make room. False when there is none, or it is too late."""
        uid = decision.pod.uid
        line = self._pool.line(decision.pod.key)
        if line is None or uid in self.api.sent:
            return False
        for job in line.jobs:
            if isinstance(job.subject, Bind) and job.subject.pod.uid == uid:
                self._preempted[uid] = decision
                if line.begun and job is line.jobs[0]:
                    assert line.task is not None
                    line.task.cancel()
                else:
                    line.jobs.remove(job)
                    self._failed(job.subject, _why_called_off(decision))
                return True
        return False

    async def _delete(self, decision: Evict) -> None:
        pod = decision.pod
        why = condition_of("DisruptionTarget", "True", decision.reason, decision.message)
        try:
            await self._statuses.write(Wanted(pod, why), BINDING)
            async with self._slots.of(BINDING):
                await self._client.delete(PODS, pod.key, uid=pod.uid, retry=True)
        except ApiError as error:
            if not is_gone(error):
                raise
        self._statuses.forget(pod.uid)

    # anything else

    def _perform_write(self, decision: Write) -> None:
        """What was not sent yet when something newer is to be written goes with it, in one write."""
        key = line_of(decision)
        line = self._pool.line(key)
        last = next(reversed(line.unbegun()), None) if line is not None else None
        if last is not None and isinstance(last.subject, Write):
            assert line is not None
            if (both := together(last.subject, decision)) is not None:
                line.jobs[-1] = Job(last.work, both)
                return
        self._pool.submit(key, self._writes.carry_out, decision, urgent=False)

    def _perform_look(self, decision: Look) -> None:
        self._pool.submit(decision.pod.key, self._look, decision, urgent=False)

    async def _look(self, decision: Look) -> None:
        """Says that the pod is gone once more, with its last state if it has finished."""
        pod = decision.pod
        try:
            found = await self.api.get("Pod", pod.key)
        except ApiError as error:
            if not is_gone(error):
                log.warning("looking up %s: %s", pod.key, error)
            found = pod
        same = found.uid == pod.uid and found.status.phase in FINISHED
        self._tell(PodDeleted(found if same else pod))

    def _perform_consult(self, decision: Consult) -> None:
        self._asked += 1
        self._questions.submit(str(self._asked), self._consult, decision)

    async def _consult(self, decision: Consult) -> None:
        assert self._extenders is not None, NOBODY_ASKS
        pod, extender, verb, number = decision.pod, decision.extender, decision.verb, decision.number
        try:
            answer = await self._extenders.ask(extender, verb, decision.body, decision.nodes)
        except MooringError as error:
            self._tell(Consulted(pod, extender, verb, number, error=str(error)))
        else:
            self._tell(Consulted(pod, extender, verb, number, answer))

    def _tell(self, event: Event) -> None:
        if not self._halted:
            self._listener(event)


def _about(decision: Decision) -> str:
    """Who a decision is about, in words."""
    about: Any = getattr(decision, "pod", None) or getattr(decision, "about", None) or decision
    return str(about.key)


def _why_called_off(evict: Evict) -> str:
    return PREEMPTED if evict.by else evict.message


async def _in_time(binding: Coroutine[Any, Any, None]) -> None:
    """A binding in which policies take part: one may wait for what never comes."""
    try:
        async with asyncio.timeout(LONGEST_BINDING_S):
            await binding
    except TimeoutError as error:
        notes = "; ".join(getattr(error.__cause__, "__notes__", ("binding",)))
        raise BindingFailed(f"{notes}: {NOT_DONE}") from error


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
