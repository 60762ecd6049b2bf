"""Why each pod is where it is, or waits: a short note per decision, told in full only when asked.

A note holds references and a position in the cluster's history, so writing one costs next to nothing. Who
asks has it told (`telling`) on a fork of that moment.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection
from itertools import chain

import msgspec
import numpy as np

from mooring.cluster.cluster import Cluster
from mooring.cluster.columns import Bools
from mooring.cluster.newest_entries import Recent
from mooring.engine.attempt import Attempt, Others
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.heard import SAID, Orders, Testimony
from mooring.engine.placement.session_forms import SESSION, Hearing
from mooring.engine.queue.hints import EXTENDER
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.domain import DOMAINS
from mooring.framework.api.session import Number
from mooring.framework.running.profile import Profile
from mooring.model.objects import Pod

NARROWED = "mooring/narrowed"  # where a cycle holds the only nodes the pod may go to
REFUSED = "mooring/refused"  # where a cycle holds why pre-filters let the pod go nowhere
JUDGED = "mooring/judged"  # where a cycle holds what extenders said
SCORED_OUTSIDE = "mooring/scored-outside"  # whether extenders added to the scores
UNSAID = "node(s) were left out by an extender"
NOTES_KEPT = 10_000  # the last decision of so many pods that are there, or half of them
GONE_KEPT = 1000  # and of so many that went
ORDERS_KEPT = 64  # decisions of which it is known how a session ordered the nodes


class Note(msgspec.Struct, eq=False):
    """One decision, as it was noted."""

    pod: Pod
    pod_class: PodClass | None  # None when the attempt ended before it was known, or its plugins are gone
    cycle: Cycle
    position: int  # in the cluster's history, before the decision took effect
    nominations: int  # changes of them until then
    others: Others  # with places then that are in no history
    node: str  # "" when the pod got none
    message: str = ""
    blamed: str = ""  # a plugin that failed: it is not heard again


class Judged(msgspec.Struct, frozen=True):
    """What extenders left, a bit a row, and how often they gave each reason: small, as notes are many."""

    bits: bytes
    reasons: Counter[str]

    @classmethod
    def of(cls, left: Bools, reasons: Counter[str]) -> Judged:
        return cls(np.packbits(left).tobytes(), reasons)

    def left(self, rows: int) -> Bools:
        known = np.unpackbits(np.frombuffer(self.bits, np.uint8)).astype(np.bool_)[:rows]
        return np.concatenate([known, np.zeros(rows - len(known), np.bool_)])

    def counts(self, rejected: int) -> Counter[tuple[str, str]]:
        """The reasons for nodes extenders rejected; some are left out without one."""
        counts = Counter({(EXTENDER, reason): count for reason, count in self.reasons.items()})
        counts[EXTENDER, UNSAID] = max(0, rejected - counts.total())
        return +counts


class Rejection(msgspec.Struct, frozen=True):
    """One plugin's reason, and how many nodes it was given for."""

    plugin: str
    reason: str
    nodes: int


class Candidate(msgspec.Struct, frozen=True):
    """A feasible node with its total and each plugin's weighted part of it."""

    node: str
    total: Number
    parts: dict[str, Number]


class Story(msgspec.Struct, frozen=True):
    """A decision told in full."""

    pod: str
    at: float
    node: str
    message: str
    nodes: int
    feasible: int
    rejections: tuple[Rejection, ...]
    best: tuple[Candidate, ...]
    blamed: str = ""  # the plugin that failed
    left_out: dict[str, str] = {}  # policies whose scores took too long, and how long
    remarks: tuple[str, ...] = ()  # what is not told, or not as it was


class Stories:
    """The last decision of each pod, up to a limit."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._notes: Recent[str, Note] = Recent(NOTES_KEPT)
        self._gone: Recent[str, Note] = Recent(GONE_KEPT)
        self._orders: deque[Orders] = deque()  # of sessions, that are kept

    def note(self, attempt: Attempt, node: str, message: str = "", blamed: str = "") -> None:
        """What an attempt comes to."""
        cycle, pod = attempt.cycle, attempt.queued.pod
        if cycle.written:
            cycle.forget(DOMAINS)  # it knows every node, and notes are kept for long
            if (hearing := cycle.read(SESSION, None)) is not None:
                cycle.write(SAID, self._testimony(hearing))
                cycle.forget(SESSION)  # which ends, and whose hooks are not asked again
        position = self._cluster.history.position if attempt.position < 0 else attempt.position
        nominations, others = attempt.nominations, attempt.others
        note = Note(pod, attempt.pod_class, cycle, position, nominations, others, node, message, blamed)
        self._notes.put(pod.metadata.uid, note)

    def _testimony(self, hearing: Hearing) -> Testimony:
        """What a session said. Of how it ordered nodes, only the last are kept."""
        testimony = hearing.heard.testimony()
        if testimony.orders is not None:
            if len(self._orders) == ORDERS_KEPT:
                self._orders.popleft().numbers = None
            self._orders.append(testimony.orders)
        return testimony

    def gone(self, uid: str) -> None:
        """The pod is no longer there. Who asks about it, asks soon."""
        if (note := self._notes.pop(uid)) is not None:
            self._gone.put(uid, note)

    def keep_classes(self, profiles: Collection[Profile]) -> None:
        """What others than these decided is told in short from now on: nothing of their plugins stays."""
        kept = set(map(id, profiles))
        for _, note in chain(self._notes.items(), self._gone.items()):
            if note.pod_class is not None and id(note.pod_class.profile) not in kept:
                note.pod_class = None

    def undone(self, pod: Pod, message: str) -> None:
        """The pod does not get the node it was noted for after all."""
        note = self._notes.get(pod.metadata.uid)
        if note is not None and (note.node or note.message != message):
            note = msgspec.structs.replace(note, node="", message=message)
            self._notes.put(pod.metadata.uid, note)

    def find(self, key: str) -> Note | None:
        """The note of the pod of that `namespace/name`."""
        notes = chain(self._notes.items(), self._gone.items())
        return max((note for _, note in notes if note.pod.key == key), key=lambda n: n.position, default=None)
