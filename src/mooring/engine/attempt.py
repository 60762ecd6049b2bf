"""One attempt to place one pod, as the engine sees it."""

from __future__ import annotations

import msgspec

from mooring.engine.classes import PodClass
from mooring.engine.decisions import Decision
from mooring.engine.queued import QueuedPod
from mooring.framework.cycle import Cycle
from mooring.framework.offers import Answered, Settle
from mooring.framework.profile import Profile
from mooring.framework.session import Session
from mooring.framework.status import Status
from mooring.model.objects import Pod


class Settled(msgspec.Struct, frozen=True):
    """An offer, once extenders have answered it, with what the post-filters before it said."""

    plugin: str
    settle: Settle
    answered: Answered
    reasons: tuple[str, ...] = ()


class Attempt:
    """What the steps of a scheduling cycle hand on to each other."""

    __slots__ = (
        "cycle",
        "decisions",
        "pod",
        "pod_class",
        "profile",
        "queued",
        "refused",
        "session",
        "settled",
        "together",
    )

    def __init__(self, queued: QueuedPod, profile: Profile, cycle: Cycle, *, together: bool = False) -> None:
        self.queued = queued
        self.profile = profile
        self.cycle = cycle
        self.pod: Pod = queued.pod  # as transformers and resizing make it
        self.pod_class: PodClass | None = None
        self.session: Session | None = None
        self.decisions: list[Decision] = []
        self.refused: dict[str, Status] = {}  # nodes that extenders reject with a reason
        self.together = together  # with others: alone it looks for no way out
        self.settled: Settled | None = None  # an offer that extenders have answered
