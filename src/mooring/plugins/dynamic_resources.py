"""DynamicResources: holds pods that ask for resource claims, which Mooring cannot allocate yet.

Better to wait with a reason than to be placed as if nothing had been asked for.
"""

from __future__ import annotations

from collections.abc import Hashable

from mooring.config.durations import Duration
from mooring.errors import ArgsError, FieldMistake
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.events import Interest
from mooring.framework.api.plugin import Plugin, PluginArgs, reads_spec_only
from mooring.framework.api.status import SKIP, Status, unresolvable, unschedulable
from mooring.model.objects import Pod

NOT_SUPPORTED = "resource claims are not supported by this scheduler yet"
NOTHING_TO_DEALLOCATE = unschedulable("no new claims to deallocate")


class DynamicResourcesArgs(PluginArgs, frozen=True):
    filter_timeout: Duration = Duration(10)
    binding_timeout: Duration = Duration(600)

    def __post_init__(self) -> None:
        mistakes = []
        if self.filter_timeout < 0:
            mistakes.append(FieldMistake(("filterTimeout",), "filterTimeout must not be negative"))
        if self.binding_timeout < 1:
            mistakes.append(FieldMistake(("bindingTimeout",), "bindingTimeout must be at least 1s"))
        ArgsError.unless_right(mistakes)


class DynamicResources(Plugin):
    name = "DynamicResources"
    Args = DynamicResourcesArgs

    @reads_spec_only
    def sign(self, pod: Pod) -> Hashable:
        return len(pod.spec.resource_claims) or None

    def pre_filter(self, cycle: Cycle, pod: Pod) -> Status | None:
        return unresolvable(NOT_SUPPORTED) if pod.spec.resource_claims else SKIP

    def post_filter(self, cycle: Cycle, pod: Pod, statuses: object) -> Status:
        """In kube-scheduler's default profile this stands in the message of every pod that does not fit."""
        return NOTHING_TO_DEALLOCATE

    def events(self) -> list[Interest]:
        """Nothing that happens makes claims supported."""
        return []
