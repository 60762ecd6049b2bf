"""The arguments of Coscheduling: Koordinator's, under its names."""

from __future__ import annotations

from mooring.config.durations import Duration
from mooring.errors import ArgsError, FieldMistake, did_you_mean
from mooring.framework.api.plugin import PluginArgs
from mooring.plugins.coscheduling.topology.layers import LayerEntry, from_args
from mooring.workloads.declared import MatchPolicy
from mooring.workloads.gang import GangRules

POLICIES = {policy.value: policy for policy in MatchPolicy}


class CoschedulingArgs(PluginArgs, frozen=True):
    """`controllerWorkers` and `skipCheckScheduleCycle` are read and change nothing.

    `networkTopology` are the layers of the network, coarsest first: labels of nodes, or what a
    ClusterNetworkTopology lists. Without it, the one named `default` counts.
    """

    default_timeout: Duration = Duration(600)
    controller_workers: int = 1
    enable_preemption: bool = True
    aware_network_topology: bool = True
    network_topology: tuple[str | LayerEntry, ...] = ()
    default_match_policy: str = MatchPolicy.ONCE_SATISFIED.value
    skip_check_schedule_cycle: bool = False

    def __post_init__(self) -> None:
        mistakes = []
        if self.default_timeout < 0:
            mistakes.append(FieldMistake(("defaultTimeout",), "defaultTimeout must not be less than 0"))
        if self.controller_workers < 1:
            what = f"controllerWorkers {self.controller_workers} not in valid range [1, inf)"
            mistakes.append(FieldMistake(("controllerWorkers",), what))
        if self.default_match_policy not in POLICIES:
            near = did_you_mean(self.default_match_policy, list(POLICIES))
            what = f'defaultMatchPolicy "{self.default_match_policy}" is none of {", ".join(POLICIES)}.{near}'
            mistakes.append(FieldMistake(("defaultMatchPolicy",), what))
        try:
            from_args(self.network_topology)
        except ArgsError as error:
            mistakes.extend(error.mistakes)
        ArgsError.unless_right(mistakes)

    def for_gangs(self) -> GangRules:
        return GangRules(POLICIES[self.default_match_policy], float(self.default_timeout))
