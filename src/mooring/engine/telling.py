"""Tells the story of a decision, on a fork of the cluster as it was then.

The parts are those of an engine on that fork, with plugins of its own. So whatever plugins answer or do, the
engine that decided neither sees nor notices it. What pre-filters found is in the note and not asked again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from mooring.cluster.columns import Bools
from mooring.engine.cycle_copy import copy_of
from mooring.engine.decisions import Wait
from mooring.engine.parts import Parts
from mooring.engine.placement.classes import PodClass
from mooring.engine.placement.full_evaluation import rows_mask
from mooring.engine.placement.heard import SAID, Testimony
from mooring.engine.placement.search import Search
from mooring.engine.placement.session_forms import SESSION
from mooring.engine.story import (
    JUDGED,
    NARROWED,
    REFUSED,
    SCORED_OUTSIDE,
    Candidate,
    Note,
    Rejection,
    Story,
)
from mooring.framework.api.domain import DOMAINS
from mooring.framework.api.status import Status
from mooring.framework.running.budget import LEFT_OUT

BEST_SHOWN = 5
AT_WORK = "the scheduler is deciding about a pod"
NO_ATTEMPT = "no node was asked so far"
NOT_ASKED = "the attempt ended before its plugins were known, or they are no longer there"
FAILED = "a plugin failed, and is not asked again"
NOMINATED = "it was nominated to {}, which took it: no other node was looked at"
ORDERS_FORGOTTEN = "how a session ordered the nodes is known of the last decisions only"
WITHOUT_EXTENDERS = "totals are without what extenders added"
SAMPLED = "nodes were looked at until enough took the pod, which may not have been all that are told of"
TAKES_TOO_LONG = "asking all plugins again takes too long"
TOO_LONG_AGO = "too much has happened since"


def why_in_short(note: Note, *, busy: bool) -> str:
    """Why nobody is asked about a decision."""
    return AT_WORK if busy else FAILED if note.blamed else NOT_ASKED


def in_short(note: Note, why: str) -> Story:
    """What is known without asking plugins again, and why they are not."""
    left_out = note.cycle.read(LEFT_OUT, {})
    pod, at, remarks = note.pod.key, note.cycle.now, (f"told in short: {why}",)
    return Story(
        pod, at, note.node, note.message, 0, 0, (), (), blamed=note.blamed, left_out=left_out, remarks=remarks
    )


def untried(waiting: Wait, now: float) -> Story:
    """Of a pod of which there is no attempt to tell."""
    remarks = (f"told in short: {NO_ATTEMPT}",)
    return Story(waiting.pod.key, now, "", waiting.message, 0, 0, (), (), remarks=remarks)


class Telling:
    """One story. Raises PluginFailed when a plugin cannot say again what it said, and Untold when it cannot
    be told in full for another reason."""

    def __init__(self, parts: Parts, note: Note, pod_class: PodClass) -> None:
        self._nodes, self._placer, self._full = parts.cluster.nodes, parts.placer, parts.placer.full
        self._own_node = parts.nominator.node_of(note.pod.metadata.uid) or note.pod.status.nominated_node_name
        self._note, self._pod = note, note.pod
        self._class = parts.hooks.classes[note.cycle.profile].like(pod_class)
        self._cycle = copy_of(note.cycle)
        self._cycle.forget(DOMAINS)  # it is of the plugins of then
        self._counts: Counter[tuple[str, str]] = Counter()
        self._said: Testimony | None = self._cycle.read(SAID, None)

    def story(self, best: int) -> Story:
        """With so many of the best nodes."""
        note = self._note
        self._class.profile.begin(note, note.pod)  # who asks why waits no longer than an attempt does
        feasible = self._feasible()
        if self._orders_are_forgotten():
            best = 0
        shown = tuple(self._best(feasible, best)) if feasible.any() and best else ()
        rejections = [Rejection(plugin, reason, n) for (plugin, reason), n in self._counts.most_common()]
        return Story(
            note.pod.key, note.cycle.now, note.node, note.message, len(self._nodes), int(feasible.sum()),
            tuple(rejections), shown, left_out=note.cycle.read(LEFT_OUT, {}), remarks=tuple(self._remarks()),
        )  # fmt: skip

    def _remarks(self) -> Iterator[str]:
        note = self._note
        if note.node and note.node == self._own_node and not self._cycle.read(NARROWED, None):
            yield NOMINATED.format(note.node)
        elif self._class.profile.looks_at_some:
            yield SAMPLED
        if self._orders_are_forgotten():
            yield ORDERS_FORGOTTEN
        if self._cycle.read(SCORED_OUTSIDE, False):
            yield WITHOUT_EXTENDERS

    def _orders_are_forgotten(self) -> bool:
        """Whether it is not known any more what a session added to the scores."""
        return self._said is not None and self._said.orders is not None and self._said.orders.numbers is None

    def _feasible(self) -> Bools:
        """The rows that take the pod; why others do not is counted."""
        nodes, cycle, counts = self._nodes, self._cycle, self._counts
        candidates = nodes.alive[: nodes.high].copy()
        if (refusal := self._refusal()) is not None:
            counts.update({(refusal.plugin, reason): len(nodes) for reason in refusal.reasons})
            return candidates & False
        if narrowed := cycle.read(NARROWED, None):
            asked = rows_mask(nodes.high, (nodes.rows[name] for name in narrowed.names if name in nodes.rows))
            plugins = " ".join(narrowed.plugins)
            left_out = int((candidates & ~asked).sum())
            counts[plugins, f"node(s) didn't satisfy plugin(s) [{plugins}]"] = left_out
            candidates &= asked
        statuses = self._placer.statuses(Search(cycle, self._pod, self._class), candidates)
        for status in statuses.values():
            counts.update((status.plugin, reason) for reason in status.reasons)
        candidates[list(statuses)] = False
        if self._said is not None:
            counts.update(self._said.reject(candidates))
        if judged := cycle.read(JUDGED, None):
            left = judged.left(len(candidates))
            counts.update(judged.counts(int((candidates & ~left).sum())))
            candidates &= left
        return candidates

    def _refusal(self) -> Status | None:
        """Why the pod was to go nowhere, before any node was asked."""
        refused: Status | None = self._cycle.read(REFUSED, None)
        return refused if refused is not None or self._said is None else self._said.refusal

    def _best(self, feasible: Bools, most: int) -> Iterator[Candidate]:
        about, nodes = (self._class, self._cycle, self._pod, feasible), self._nodes
        self._full.pre_score(*about)
        self._cycle.skip_score |= self._note.cycle.read(LEFT_OUT, {}).keys()
        scored = self._full.score(*about)
        totals, by_plugin = scored.totals, dict(scored.parts)
        if self._said is not None and self._said.orders is not None:
            by_plugin[SESSION] = self._said.orders.numbers
            totals = totals + by_plugin[SESSION]
        rows = np.flatnonzero(feasible).tolist()
        rows.sort(key=lambda row: (-totals[row], nodes.arrival[row]))
        chosen = nodes.rows.get(self._note.node)
        shown = rows[:most]
        if chosen is not None and chosen in rows and chosen not in shown:
            shown[-1] = chosen
        for row in shown:
            parts = {name: part[row].item() for name, part in by_plugin.items()}
            yield Candidate(nodes.names[row], totals[row].item(), parts)
