"""Which pods an event is worth waking: the interests of each profile's plugins, and their hints."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Any

from msgspec.structs import replace

from mooring.engine.queue.queued_pod import QueuedPod
from mooring.framework.api import answers
from mooring.framework.api.events import EVERYTHING, NODE, Action, ClusterEvent, Hint, Interest
from mooring.framework.api.plugin import Plugin
from mooring.framework.running.profile import Profile
from mooring.model.objects import Pod

EXTENDER = "Extender"  # what extenders reject is rejected by a plugin of this name
ASKED_AT = ("pre_enqueue", "pre_filter", "filter", "filter_nodes", "reserve", "permit")


Wanting = dict[str, dict[str, tuple[Interest, ...]]]  # by profile and plugin


class Requeue(Enum):
    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


SKIP, AFTER_BACKOFF, IMMEDIATELY = Requeue  # quicker to find so: every event meets every pod that waits
NO_USE = Hint.SKIP


class Hints:
    """The interests of every plugin, by profile."""

    def __init__(self, profiles: Iterable[Profile], *, extenders: bool = False) -> None:
        others = {EXTENDER: EVERYTHING} if extenders else {}
        self._interests = {
            profile.name: {name: _timed(profile, plugin) for name, plugin in profile.plugins.items()} | others
            for profile in profiles
        }
        self._matching: dict[tuple[str, int], Wanting] = {}  # by resource and the bits of the action

    def anyone_wants(self, event: ClusterEvent) -> bool:
        return event.wildcard or any(self._wanting(event).values())

    def wanted(self, profile: str, plugin: str, event: ClusterEvent) -> bool:
        """Whether a plugin of a profile has registered for an event."""
        return plugin in self._wanting(event).get(profile, {})

    def _wanting(self, event: ClusterEvent) -> Wanting:
        """The interests an event of this kind meets, by profile and plugin; worked out once per kind."""
        kind = event.resource, event.action._value_  # an Enum itself is slow to hash
        known = self._matching.get(kind)
        if known is None:
            known = self._matching[kind] = self._met(event)
        return known

    def _met(self, event: ClusterEvent) -> Wanting:
        met = {
            profile: {
                plugin: tuple(interest for interest in interests if event.wanted_by(interest))
                for plugin, interests in plugins.items()
            }
            for profile, plugins in self._interests.items()
        }
        return {
            profile: {plugin: interests for plugin, interests in plugins.items() if interests}
            for profile, plugins in met.items()
        }

    def worth_requeuing(self, queued: QueuedPod, event: ClusterEvent) -> Requeue:
        """Whether an event may make a rejected pod schedulable, in the eyes of who rejected it."""
        rejectors = queued.rejectors
        if not rejectors:
            return AFTER_BACKOFF
        if event.wildcard:
            mine = not isinstance(event.new, Pod) or event.new.metadata.uid == queued.pod.metadata.uid
            return AFTER_BACKOFF if mine else SKIP
        result = SKIP
        for plugin, interests in self._wanting(event).get(queued.pod.spec.scheduler_name, {}).items():
            if plugin not in rejectors or not self._queues(queued.pod, event, interests, plugin):
                continue
            if plugin in queued.pending_plugins:
                return IMMEDIATELY
            result = AFTER_BACKOFF
            if not queued.pending_plugins:
                break
        return result

    def _queues(self, pod: Pod, event: ClusterEvent, interests: tuple[Interest, ...], plugin: str) -> bool:
        """Whether any matching hint says so. A hint that fails counts as a yes: better tried than lost."""
        for interest in interests:
            if interest.hint is None:
                return True
            try:
                if interest.hint(pod, event.old, event.new) is not NO_USE:
                    return True
            except BaseException as error:
                answers.raised(plugin, "events", error)
                return True
        return False


def _timed(profile: Profile, plugin: Plugin) -> tuple[Interest, ...]:
    """What a plugin registers for, with the time its hints take kept in its ledger."""
    return tuple(
        interest
        if interest.hint is None
        else replace(interest, hint=profile.timed(plugin.name, "events", interest.hint))
        for interest in interests_of(plugin)
    )


def _interest(plugin: str, answer: Any) -> Interest:
    sound = type(answer) is Interest and type(answer.resource) is str and type(answer.action) is Action
    if not sound or not (answer.hint is None or callable(answer.hint)):
        raise answers.failed(plugin, "events", f"returned {answers.shown(answer)}, which is no Interest")
    return answer  # type: ignore[no-any-return]


def interests_of(plugin: Plugin) -> tuple[Interest, ...]:
    """What a plugin registers for: everything when it does not say."""
    if not any(hasattr(plugin, point) for point in ASKED_AT):
        return ()
    if not hasattr(plugin, "events"):
        return EVERYTHING
    try:
        interests = tuple(_interest(plugin.name, each) for each in plugin.events())
    except BaseException as error:
        answers.passed_over(plugin.name, "events", error)
        return EVERYTHING  # never wrong, often in vain
    adds_node = any(i.resource == NODE and i.action & Action.ADD for i in interests)
    sees_taints = any(i.resource == NODE and i.action & Action.UPDATE_NODE_TAINT for i in interests)
    if adds_node and not sees_taints:
        # A node's first taints are often removed right after it joins.
        interests += (Interest(NODE, Action.UPDATE_NODE_TAINT),)
    return interests
