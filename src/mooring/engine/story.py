"""Why each pod is where it is, or waits: a short note per decision, told in full only when asked.

A note holds references and a position in the cluster's history, so writing one costs next to nothing.
When somebody asks, the cluster is rewound to that moment, every plugin is heard again, and the
cluster comes back to now.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from itertools import chain

import msgspec
import numpy as np

from mooring.cluster.cluster import Cluster
from mooring.cluster.columns import Bools
from mooring.cluster.newest_entries import Recent
from mooring.engine.attempt import Attempt
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.full_evaluation import FullEvaluation, rows_mask
from mooring.engine.queue.hints import EXTENDER
from mooring.errors import ClusterError, PluginFailed
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.domain import DOMAINS
from mooring.framework.running.budget import LEFT_OUT
from mooring.framework.running.profile import Profile
from mooring.model.objects import Pod

NARROWED = "mooring/narrowed"  # where a cycle holds the only nodes the pod may go to
JUDGED = "mooring/judged"  # where a cycle holds what extenders said
UNSAID = "node(s) were left out by an extender"
NOTES_KEPT = 10_000  # the last decision of so many pods that are there, or half of them
GONE_KEPT = 1000  # and of so many that went
BEST_SHOWN = 5


class Note(msgspec.Struct, eq=False):
    """One decision, as it was noted."""

    pod: Pod
    pod_class: PodClass | None  # None when the attempt ended before it was known, or its plugins are gone
    cycle: Cycle
    position: int  # in the cluster's history, before the decision took effect
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
    total: int
    parts: dict[str, int]


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


class Stories:
    """The last decision of each pod, up to a limit."""

    def __init__(self, cluster: Cluster, full: FullEvaluation) -> None:
        self._cluster = cluster
        self._full = full
        self._notes: Recent[str, Note] = Recent(NOTES_KEPT)
        self._gone: Recent[str, Note] = Recent(GONE_KEPT)

    def note(self, attempt: Attempt, node: str, message: str = "", blamed: str = "") -> None:
        """What an attempt comes to."""
        cycle, pod = attempt.cycle, attempt.queued.pod
        if cycle.written:
            cycle.forget(DOMAINS)  # it knows every node, and notes are kept for long
        position = self._cluster.history.position
        note = Note(pod, attempt.pod_class, cycle, position, node, message, blamed)
        self._notes.put(pod.metadata.uid, note)

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

    def tell(self, key: str, best: int = BEST_SHOWN) -> Story | None:
        """The whole story of a pod's last decision, or None if it is not remembered."""
        note = self.find(key)
        if note is None:
            return None
        if note.pod_class is None or note.blamed:
            return _in_short(note)
        try:
            note.pod_class.profile.begin(note, note.pod)  # who asks why waits no longer than an attempt does
            with self._cluster.history.rewound(self._cluster, note.position):
                return self._tell(note, note.pod_class, best)
        except (ClusterError, PluginFailed):  # too long ago, or a plugin cannot say it again
            return _in_short(note)

    def _tell(self, note: Note, pod_class: PodClass, shown: int) -> Story:
        nodes, pod = self._cluster.nodes, note.pod
        cycle = note.cycle.clone()
        cycle.forget(DOMAINS)  # what was lent to it has moved on with the cluster
        candidates = nodes.alive[: nodes.high].copy()
        counts: Counter[tuple[str, str]] = Counter()
        if narrowed := cycle.read(NARROWED, None):
            asked = rows_mask(nodes.high, (nodes.rows[name] for name in narrowed.names if name in nodes.rows))
            plugins = " ".join(narrowed.plugins)
            left_out = int((candidates & ~asked).sum())
            counts[plugins, f"node(s) didn't satisfy plugin(s) [{plugins}]"] = left_out
            candidates &= asked
        statuses = self._full.statuses(pod_class, cycle, pod, candidates)
        for status in statuses.values():
            counts.update((status.plugin, reason) for reason in status.reasons)
        candidates[list(statuses)] = False
        if judged := cycle.read(JUDGED, None):
            left = judged.left(len(candidates))
            counts.update(judged.counts(int((candidates & ~left).sum())))
            candidates &= left
        rejections = [Rejection(plugin, reason, n) for (plugin, reason), n in counts.most_common()]
        best = self._best(note, pod_class, cycle, candidates, shown) if candidates.any() else []
        return Story(
            pod.key, cycle.now, note.node, note.message, len(nodes), int(candidates.sum()),
            tuple(rejections), tuple(best), left_out=note.cycle.read(LEFT_OUT, {}),
        )  # fmt: skip

    def _best(self, note: Note, pod_class: PodClass, cycle: Cycle, ok: Bools, most: int) -> list[Candidate]:
        self._full.pre_score(pod_class, cycle, note.pod, ok)
        scored = self._full.score(pod_class, cycle, note.pod, ok)
        nodes = self._cluster.nodes
        rows = sorted(np.flatnonzero(ok).tolist(), key=lambda row: (-scored.totals[row], nodes.arrival[row]))
        chosen = nodes.rows.get(note.node)
        shown = rows[:most]
        if chosen is not None and chosen in rows and chosen not in shown:
            shown[-1] = chosen
        return [
            Candidate(
                nodes.object_at(row).name,
                int(scored.totals[row]),
                {name: int(part[row]) for name, part in scored.parts.items()},
            )
            for row in shown
        ]


def _in_short(note: Note) -> Story:
    """What is known without asking plugins again."""
    left_out = note.cycle.read(LEFT_OUT, {})
    pod, at = note.pod.key, note.cycle.now
    return Story(pod, at, note.node, note.message, 0, 0, (), (), blamed=note.blamed, left_out=left_out)
