"""What is written into the status of pods: why they wait, where they are to go, who makes room.

Nothing is written that is there already. What was not sent yet when something newer is to be written goes
with it in one write.
"""

from __future__ import annotations

import asyncio
import random as randomness
import time
from collections.abc import Awaitable, Callable

import msgspec

from mooring.cluster.newest_entries import Recent
from mooring.errors import ApiError, Conflict, NotFound, Unreachable
from mooring.kube.client import STRATEGIC, Client
from mooring.kube.http.call_slots import STATUS, Slots
from mooring.kube.request_bodies import StatusPatch, timestamp
from mooring.kube.resources import PODS
from mooring.model.objects import Pod, PodCondition

WAITS_S = (0.01, 0.05, 0.25)  # client-go's default back-off between four tries
JITTER = 0.1
REMEMBERED = 10_000  # pods of which is known what was written last
OTHER_POD = "UID in precondition"  # in the server's words when the pod's name belongs to another one by now


class Wanted(msgspec.Struct, frozen=True):
    """What a pod's status is to say. `nominated` None leaves the nomination as it is."""

    pod: Pod
    condition: PodCondition | None = None
    nominated: str | None = None

    def after(self, earlier: Wanted | None) -> Wanted:
        """Both in one: what the later one leaves open is as the earlier one says."""
        if earlier is None or earlier.pod.uid != self.pod.uid:
            return self
        condition = self.condition or earlier.condition
        return Wanted(self.pod, condition, earlier.nominated if self.nominated is None else self.nominated)


class Known(msgspec.Struct, frozen=True):
    """What the server has of a pod's status, as far as it is written here."""

    conditions: dict[str, PodCondition]
    nominated: str

    def missing(self, wanted: Wanted, now: Callable[[], float]) -> StatusPatch:
        """The difference. The moment of transition moves only when the condition's status does."""
        condition, nominated, transition = wanted.condition, wanted.nominated, ""
        if condition is not None:
            condition = msgspec.structs.replace(condition, observed_generation=wanted.pod.metadata.generation)
            there = self.conditions.get(condition.type)
            if there == condition:
                condition = None
            elif there is None or there.status != condition.status:
                transition = timestamp(now())
        return StatusPatch(condition, transition, None if nominated == self.nominated else nominated)

    def with_(self, patch: StatusPatch) -> Known:
        added = {patch.condition.type: patch.condition} if patch.condition is not None else {}
        nominated = self.nominated if patch.nominated is None else patch.nominated
        return Known({**self.conditions, **added}, nominated)


class Statuses:
    """Writes statuses of pods. `superseded` says of a pod's key that something newer is to be done."""

    def __init__(
        self,
        client: Client,
        slots: Slots,
        superseded: Callable[[str], bool],
        *,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Callable[[], float] = randomness.random,
    ) -> None:
        self._client = client
        self._slots = slots
        self._superseded = superseded
        self._now = now
        self._sleep = sleep
        self._random = random
        self._written = Recent[str, tuple[str, Known]](
            REMEMBERED
        )  # by uid, with the version it was written on

    async def write(self, wanted: Wanted, lane: int = STATUS) -> None:
        """Has the status say what is wanted, or raises ApiError. Gives up in silence when superseded."""
        pod = wanted.pod
        known = self._known(pod)
        patch = known.missing(wanted, self._now)
        if not patch:
            return
        if await self._send(pod, patch.body(pod), lane):
            self._remember(pod, known.with_(patch))

    def forget(self, uid: str) -> None:
        """Nothing will be written about the pod any more."""
        self._written.pop(uid)

    async def _send(self, pod: Pod, body: bytes, lane: int) -> bool:
        for wait in (*WAITS_S, None):
            try:
                async with self._slots.of(lane):
                    await self._client.patch(PODS, pod.key, body, how=STRATEGIC, sub="status")
                return True
            except ApiError as error:
                if wait is None or not _passing(error):
                    raise
            await self._sleep(wait * (1 + JITTER * self._random()))
            if lane == STATUS and self._superseded(pod.key):
                return False
        return False

    def _known(self, pod: Pod) -> Known:
        """What is there: as the pod says, unless something was written since that it does not show yet."""
        written = self._written.get(pod.uid)
        if written is not None and written[0] == pod.metadata.resource_version:
            return written[1]
        status = pod.status
        return Known({each.type: each for each in status.conditions}, status.nominated_node_name)

    def _remember(self, pod: Pod, known: Known) -> None:
        self._written.put(pod.uid, (pod.metadata.resource_version, known))


def condition_of(kind: str, status: str, reason: str, message: str) -> PodCondition:
    return PodCondition(type=kind, status=status, reason=reason, message=message)


def is_gone(error: ApiError) -> bool:
    """Whether the very pod is not there any more."""
    return isinstance(error, NotFound) or (isinstance(error, Conflict) and OTHER_POD in str(error))


def _passing(error: ApiError) -> bool:
    """Whether the same write may succeed in a moment. What never reached the server was tried before."""
    if isinstance(error, Unreachable):
        return error.sent
    return error.code >= 500 or (isinstance(error, Conflict) and not is_gone(error))
