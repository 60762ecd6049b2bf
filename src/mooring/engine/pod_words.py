"""What each pod that has no node waits for, and who is still to be told.

An attempt that fails says why. Whatever else holds a pod (a gate, permit, an extender) is told here, on the
pod: once it has lasted for a moment, and again when it has become something else. A gate whose words keep
changing is told of more and more rarely: pods of a large gang that comes in slowly must not be written again
with each of its pods. Whoever stands by tells nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import inf
from typing import Any, TypeGuard

import msgspec

from mooring.engine.decisions import (
    ANSWERS,
    ASKING_EXTENDER,
    HELD_BACK,
    IN_LINE,
    SCHEDULER_ERROR,
    SCHEDULING_GATED,
    WAITING_AT_PERMIT,
    Wait,
)
from mooring.engine.permit_waiting import PermitWait
from mooring.engine.queue.queued_pod import ACTIVE, IN_FLIGHT, QueuedPod
from mooring.engine.queue.scheduling_queue import SchedulingQueue
from mooring.framework.api import answers
from mooring.framework.api.gate_words import SaysWhatFor
from mooring.model.objects import Pod
from mooring.model.texts import clipped

PATIENCE_S = 0.3  # most holds are over sooner; with the time a write takes it is told within a second
LONGEST_PATIENCE_S = 60.0
AT_ONCE, PAUSE_S = 100, 0.05  # pods told of with one tick, and until the next: others are decided between
UNTRIED = "waits for its turn: it has not been tried yet"
UNSAID = "held back by plugin {}, which gives no reason"


class Words(msgspec.Struct, frozen=True):
    """What a pod waits for, as its condition says it."""

    reason: str
    message: str
    plugins: tuple[str, ...] = ()
    passing: bool = False  # it ends by itself: what was said of the pod before still holds


class Said(msgspec.Struct):
    """What was last told on a pod, when, and how long the same holder is not told of again."""

    words: Words
    at: float = 0.0
    pace_s: float = PATIENCE_S


class PodWords:
    """Of one scheduler. `paused` says why nothing is decided at all, if that is so."""

    queue: SchedulingQueue

    def __init__(self, pending: Mapping[str, Pod], waiting: Mapping[str, PermitWait]) -> None:
        self._pending, self._waiting = pending, waiting
        self._said: dict[str, Said] = {}
        self._due: dict[str, float] = {}  # when pods are looked at that may have to be told of, by uid
        self._next = inf
        self.asked_about: Callable[[str], str] = lambda uid: ""  # what extenders are asked about a pod
        self._in_line: set[str] = set()  # uids of pods that waited for their turn when it was last asked
        self.paused = ""
        self.speaks = False  # pods are decided: what is told is carried out

    # what is known

    def of(self, uid: str) -> Words | None:
        """What a pod waits for now; None when it waits for nothing of ours: it is being bound, say."""
        if uid not in self._pending:
            return None
        held, said = self._held(uid), self._last(uid)
        if held is not None:
            return said.words if said is not None and _still_holds(said, held) else held
        queued = self.queue.get(uid)
        if queued is None or queued.where is IN_FLIGHT:
            return None
        if self.paused and queued.where is ACTIVE:
            return Words(SCHEDULER_ERROR, self.paused)
        return said.words if _is_answer(said) else Words(IN_LINE, UNTRIED)

    def _last(self, uid: str) -> Said | None:
        """What was last told on a pod; by another scheduler before, as its condition says."""
        if (said := self._said.get(uid)) is None:
            for each in self._pending[uid].status.conditions:
                if each.type == "PodScheduled" and each.reason in ANSWERS:
                    return Said(Words(each.reason, each.message))
        return said

    def _held(self, uid: str) -> Words | None:
        """What keeps a pod from being tried, or bound."""
        if (wait := self._waiting.get(uid)) is not None:
            return Words(WAITING_AT_PERMIT, wait.words, wait.pending_plugins)
        queued = self.queue.get(uid)
        if queued is not None and queued.gating_plugin:
            return self._gated(queued)
        if queued is not None and queued.where not in (ACTIVE, IN_FLIGHT):
            plugin, by_now = self._by_now(queued)
            return Words(HELD_BACK, by_now, (plugin,)) if by_now else None
        asked = self.asked_about(uid)
        return Words(ASKING_EXTENDER, asked, passing=True) if asked else None

    def _gated(self, queued: QueuedPod) -> Words:
        plugin, by_now = queued.gating_plugin, self._by_now(queued)[1]
        reason = SCHEDULING_GATED if queued.pod.spec.scheduling_gates else HELD_BACK
        message = by_now or queued.gating_message or UNSAID.format(plugin)
        return Words(reason, message, (plugin,), queued.gate_is_passing and not by_now)

    def _by_now(self, queued: QueuedPod) -> tuple[str, str]:
        """The plugin that holds a pod or has rejected it and says what for by now, and what it says."""
        asked = (queued.gating_plugin,) if queued.gating_plugin else queued.rejectors
        for name, plugin in self._who_say(queued.pod, asked):
            try:
                return name, clipped(str.__str__(plugin.held_for(queued.pod)))
            except BaseException as error:
                answers.passed_over(name, "held_for", error)
        return "", ""

    def _who_say(self, pod: Pod, plugins: Iterable[str]) -> Iterator[tuple[str, SaysWhatFor]]:
        """Those of the plugins whose words change without anybody telling."""
        profile = self.queue.hooks.profiles.get(pod.spec.scheduler_name)
        known: Mapping[str, Any] = {} if profile is None else profile.plugins
        for name in plugins:
            if isinstance(plugin := known.get(name), SaysWhatFor):
                yield name, plugin

    # telling

    def begin(self, now: float) -> None:
        """Pods are decided from now on. Those that need not wait any more are decided first."""
        self.speaks = True
        for uid in list(self._due):
            self._due[uid] = max(self._due[uid], now + PATIENCE_S)

    def said(self, wait: Wait, now: float) -> Wait:
        """A pod is told of."""
        if (uid := wait.pod.metadata.uid) in self._pending:
            self._said[uid] = Said(Words(wait.reason, wait.message, wait.plugins), now)
            if any(self._who_say(wait.pod, wait.plugins)):
                self.owe(uid, now)
        return wait

    def owe(self, uid: str, now: float) -> None:
        """Something else holds the pod, or for another reason."""
        if self._due.get(uid, inf) > (due := now + PATIENCE_S):
            self._due[uid] = due
            self._next = min(self._next, due)

    def forget(self, uid: str) -> None:
        self._said.pop(uid, None)
        self._due.pop(uid, None)

    @property
    def wake_at(self) -> float:
        """When there may be something to tell; never for who stands by."""
        return self._next if self.speaks else inf

    @property
    def owes(self) -> bool:
        """Whether some pod waits that was never told of."""
        return any(uid not in self._said for uid in self._due)

    def tell(self, now: float) -> list[Wait]:
        """What is due, a bit at a time. Pods held for the same are told of together, with the first."""
        if now < self.wake_at:
            return []
        due = [uid for uid, moment in self._due.items() if moment <= now][:AT_ONCE]
        found = [wait for uid in due if (wait := self._look(uid, now)) is not None]
        self._next = min(self._due.values(), default=inf)
        if self._next <= now:
            self._next = now + PAUSE_S
        return list(_together(found))

    def _look(self, uid: str, now: float) -> Wait | None:
        del self._due[uid]
        pod = self._pending.get(uid)
        if pod is None or pod.terminating:
            return None
        held, said = self._held(uid), self._last(uid)
        if held is None or _still_holds(said, held):
            if said is not None and any(self._who_say(pod, said.words.plugins)):
                said.pace_s = min(said.pace_s * 2, LONGEST_PATIENCE_S)
                self._due[uid] = now + said.pace_s
            return None
        same_holder = said is not None and (said.words.reason, said.words.plugins) == (
            held.reason, held.plugins
        )  # fmt: skip
        is_news = said is None or said.words.message != held.message
        if said is not None and same_holder:
            if is_news and now < said.at + said.pace_s:
                self._due[uid] = said.at + said.pace_s
                return None
            pace_s = min(said.pace_s * 2, LONGEST_PATIENCE_S)
        else:
            pace_s = PATIENCE_S * 2
        if any(self._who_say(pod, held.plugins)):
            self._due[uid] = now + pace_s
        if not is_news:
            if said is not None:
                said.pace_s = pace_s
            return None
        self._said[uid] = Said(held, now, pace_s)
        return Wait(pod, held.reason, held.message, held.plugins)

    def pause(self, why: str) -> None:
        """Nothing is decided for a reason; for none, it goes on."""
        self.paused = why

    def in_line(self, most: int, now: float) -> list[Wait]:
        """Tells of so many pods at most that wait for their turn, and did so when that was last asked."""
        before, self._in_line = self._in_line, set()
        words = Words(SCHEDULER_ERROR, self.paused) if self.paused else Words(IN_LINE, UNTRIED)
        found: list[Wait] = []
        for queued in self.queue if self.queue.sizes()["active"] else ():
            uid = queued.pod.metadata.uid
            if len(found) == most:
                break
            if queued.where is not ACTIVE or self._says(uid, words):
                continue
            if self.paused or uid in before:
                found.append(self.said(Wait(queued.pod, words.reason, words.message), now))
            else:
                self._in_line.add(uid)
        return list(_together(found))

    def _says(self, uid: str, words: Words) -> bool:
        """Whether a pod in line says so, or, while pods are decided, what its last attempt said."""
        said = self._said.get(uid)
        return said is not None and (said.words == words or (not self.paused and _is_answer(said)))

    def check(self) -> None:
        """Asserts that of every pod that waits it is known what for, and that it is told or about to be."""
        for uid, pod in self._pending.items():
            queued = self.queue.get(uid)
            if pod.terminating or (queued is None and uid not in self._waiting):
                continue
            assert self.of(uid) is not None, pod.key
            if self._held(uid) is not None:
                assert self._last(uid) is not None or uid in self._due, pod.key


def _is_answer(said: Said | None) -> TypeGuard[Said]:
    """Whether an attempt has failed, and that was said last."""
    return said is not None and said.words.reason in ANSWERS


def _still_holds(said: Said | None, held: Words) -> bool:
    """Whether what was said is worth more than what holds the pod for a moment."""
    return held.passing and _is_answer(said)


def _together(waits: list[Wait]) -> Iterator[Wait]:
    counts = Counter((wait.reason, wait.message) for wait in waits)
    for wait in waits:
        yield msgspec.structs.replace(wait, together=counts.pop((wait.reason, wait.message), 0))
