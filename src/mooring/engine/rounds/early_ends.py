"""Which objects end a round, and how often they may.

Tenants write objects. Without a bound, who edits one in a loop has an expensive session opened for each pod.
"""

from __future__ import annotations

from collections import deque

from mooring.framework.api.plugin import Plugin
from mooring.framework.running.profile import Profile
from mooring.model.objects import Object

LONGEST_S = 1.0  # of a round; as often as KAI opens a session
MOST_JOBS = 1000  # of a round, where time stands still, as in a simulation
MOST_EARLY = 10  # rounds that objects end, in the time or the jobs of a longest round


class EarlyEnds:
    """The rounds of a profile that objects ended lately."""

    def __init__(self) -> None:
        self._ends: deque[tuple[float, int]] = deque(maxlen=MOST_EARLY)  # when, and after how many jobs
        self.jobs = 0  # tried so far

    def allow(self, now: float) -> bool:
        """Whether there may be one more."""
        if len(self._ends) < MOST_EARLY:
            return True
        at, jobs = self._ends[0]
        return now - at >= LONGEST_S or self.jobs - jobs >= MOST_JOBS

    def note(self, now: float) -> None:
        """There is one more."""
        self._ends.append((now, self.jobs))


def look_at(profile: Profile, found: Object) -> bool:
    """Whether plugins of a profile that open sessions may know of such an object."""
    hearing = {id(hook.plugin) for hook in profile.at("object_seen")}
    plugins = [hook.plugin for hook in profile.at("on_session_open")]
    return any(id(plugin) in hearing or _reads(plugin, found) for plugin in plugins)


def _reads(plugin: Plugin, found: Object) -> bool:
    """Whether it says so, or has asked for a lister. A path names a plural, so all of its group count."""
    group, _, _ = found.api_version.rpartition("/")
    kinds = {found.kind, f"{found.kind}.{group}"}
    if kinds & plugin.handle.listed or kinds.intersection(plugin.reads):
        return True
    return any(each.startswith(f"{found.api_version}/") for each in plugin.reads)
