"""Pods that have their place and wait at permit until the plugins that hold them back let go."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from mooring.config.durations import format_duration
from mooring.engine.queue.queued_pod import QueuedPod
from mooring.framework.api.answers import shown
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.status import Status, error, unschedulable
from mooring.framework.running.profile import Hook, Profile
from mooring.model.objects import Pod
from mooring.model.texts import clipped

LONGEST_WAIT_S = 15 * 60
WORDS = "has a place on node {node} and waits for permission: {who}"
OF_PLUGIN = "plugin {} holds it{}"


class Hold(NamedTuple):
    """How long a plugin has a pod wait at most, and what for."""

    timeout_s: float
    reason: str


NO_WAITS: Mapping[str, Hold] = MappingProxyType({})


class Reserved(msgspec.Struct, eq=False):
    """A pod that took a place, from reserve until the API server has it bound."""

    queued: QueuedPod
    cycle: Cycle
    profile: Profile
    pod: Pod
    node_name: str
    patches: tuple[Hook, ...] = ()  # who may want something written before the bind
    waits: Mapping[str, Hold] = NO_WAITS  # of plugins that want it to wait at permit
    takes_long: bool = False  # some plugin has something to do before the bind


Settle = Callable[["PermitWait", Status | None], None]


class PermitWait:
    """One waiting pod. The first word that settles it counts; later ones are ignored."""

    def __init__(self, reserved: Reserved, now: float, settle: Settle) -> None:
        self.reserved = reserved
        self._until = {plugin: now + hold.timeout_s for plugin, hold in reserved.waits.items()}
        self._settle = settle
        self.settled = False

    @property
    def pod(self) -> Pod:
        return self.reserved.pod

    @property
    def node_name(self) -> str:
        return self.reserved.node_name

    @property
    def pending_plugins(self) -> tuple[str, ...]:
        return tuple(self._until)

    @property
    def deadline(self) -> float:
        return min(self._until.values())

    @property
    def words(self) -> str:
        """What the pod waits for, in the words of the plugins that hold it."""
        reasons = ((plugin, self.reserved.waits[plugin].reason) for plugin in self._until)
        who = "; ".join(OF_PLUGIN.format(plugin, f": {said}" if said else "") for plugin, said in reasons)
        return clipped(WORDS.format(node=self.node_name, who=who))

    def allow(self, plugin: str) -> None:
        _must_be_words(plugin)
        if self.settled:
            return
        self._until.pop(plugin, None)
        if not self._until:
            self._finish(None)

    def reject(self, plugin: str, message: str) -> None:
        _must_be_words(plugin, message)
        if not self.settled:
            self._finish(unschedulable(clipped(message)).by(clipped(plugin)))

    def preempt(self, plugin: str, message: str) -> None:
        _must_be_words(plugin, message)
        if not self.settled:
            self._finish(error(clipped(message)).by(clipped(plugin)))

    def expire(self, now: float) -> None:
        """Rejects the pod if some plugin's time is up."""
        for plugin, moment in self._until.items():
            if moment <= now and not self.settled:
                waited = format_duration(self.reserved.waits[plugin].timeout_s)
                self.reject(plugin, f"rejected due to timeout after waiting {waited} at plugin {plugin}")
                return

    def _finish(self, status: Status | None) -> None:
        self.settled = True
        self._settle(self, status)


class WaitingPods(Mapping[str, PermitWait]):
    """Who waits, as plugins see it. Letting one go changes who waits: they go over those who did."""

    def __init__(self, by_uid: dict[str, PermitWait]) -> None:
        self._by_uid = by_uid

    def __getitem__(self, uid: str) -> PermitWait:
        return self._by_uid[uid]

    def __len__(self) -> int:
        return len(self._by_uid)

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._by_uid))

    def values(self) -> ValuesView[PermitWait]:
        return dict(self._by_uid).values()

    def items(self) -> ItemsView[str, PermitWait]:
        return dict(self._by_uid).items()


def _must_be_words(*words: object) -> None:
    for word in words:
        if type(word) is not str:
            raise TypeError(f"{shown(word)} is not a plugin's name, or no message")
