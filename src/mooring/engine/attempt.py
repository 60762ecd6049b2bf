"""One attempt to place one pod, as the engine sees it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from mooring.engine.decisions import Decision
from mooring.engine.placement.search import Search
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.framework.api.offers import Answered, Settle
from mooring.framework.api.status import Status
from mooring.framework.running.profile import Profile
from mooring.model.objects import Pod

NOBODY_REFUSED: Mapping[str, Status] = MappingProxyType({})


class Settled(msgspec.Struct, frozen=True):
    """An offer, once extenders have answered it, with what the post-filters before it said."""

    plugin: str
    settle: Settle
    answered: Answered
    reasons: tuple[str, ...] = ()


class Others(msgspec.Struct, frozen=True, eq=False):
    """Members of its gang that had places when a pod was tried, and not for long: the first of these."""

    places: list[tuple[Pod, str]]  # of all members, with their nodes; one list for all of them
    count: int


NOBODY_ELSE = Others([], 0)


class Attempt(Search, eq=False, kw_only=True):
    """What the steps of a scheduling cycle hand on to each other."""

    queued: QueuedPod
    profile: Profile
    decisions: list[Decision] = []
    refused: Mapping[str, Status] = NOBODY_REFUSED  # nodes that extenders reject with a reason
    together: bool = False  # with others: alone it looks for no way out
    settled: Settled | None = None  # an offer that extenders have answered
    position: int = -1  # of the cluster's history when nodes were asked; -1: they were not
    nominations: int = 0  # changes of them until then
    others: Others = NOBODY_ELSE
