"""The arguments of Coscheduling: Koordinator's and those of scheduler-plugins, under their names."""

from __future__ import annotations

import msgspec

from mooring.config.durations import Duration
from mooring.errors import ArgsError, FieldMistake, did_you_mean
from mooring.framework.api.plugin import PluginArgs
from mooring.plugins.coscheduling.topology.layers import LayerEntry, from_args
from mooring.workloads.declared import MatchPolicy
from mooring.workloads.gang import GangRules

DEFAULT_TIMEOUT = Duration(600)
_QUEUE = "a gang that does not fit is tried again as podInitialBackoffSeconds and podMaxBackoffSeconds say"
_FORGOTTEN = "a gang is forgotten with its last pod"
_ACCESS = "the API server is that of clientConnection, --kubeconfig and --master"
NO_EFFECT = {
    "controllerWorkers": "PodGroups are followed by the scheduler itself",
    "skipCheckScheduleCycle": "a gang is tried as a whole, without cycles",
    "podGroupBackoffSeconds": _QUEUE,
    "deniedPGExpirationTimeSeconds": _QUEUE,
    "podGroupGCIntervalSeconds": _FORGOTTEN,
    "podGroupExpirationTimeSeconds": _FORGOTTEN,
    "kubeMaster": _ACCESS,
    "kubeConfigPath": _ACCESS,
}
POLICIES = {policy.value: policy for policy in MatchPolicy}


class CoschedulingArgs(PluginArgs, frozen=True):
    """`permitWaitingTimeSeconds` is the word of scheduler-plugins for `defaultTimeout`.

    `networkTopology` are the layers of the network, coarsest first: labels of nodes, or what a
    ClusterNetworkTopology lists. Without it, the one named `default` counts.
    """

    default_timeout: Duration = DEFAULT_TIMEOUT
    controller_workers: int = 1
    enable_preemption: bool = True
    aware_network_topology: bool = True
    network_topology: tuple[str | LayerEntry, ...] = ()
    default_match_policy: str = MatchPolicy.ONCE_SATISFIED.value
    skip_check_schedule_cycle: bool = False
    permit_waiting_time_seconds: int | None = None
    pod_group_backoff_seconds: int | None = None
    denied_pg_expiration_time_seconds: int | None = msgspec.field(
        default=None, name="deniedPGExpirationTimeSeconds"
    )
    pod_group_gc_interval_seconds: int | None = msgspec.field(default=None, name="podGroupGCIntervalSeconds")
    pod_group_expiration_time_seconds: int | None = None
    kube_master: str | None = None
    kube_config_path: str | None = None

    no_effect = NO_EFFECT

    def __post_init__(self) -> None:
        mistakes = []
        for field in msgspec.structs.fields(self):
            value = getattr(self, field.name)
            if field.encode_name.endswith("Seconds") and value is not None and value < 0:
                what = f"{field.encode_name} must not be less than 0"
                mistakes.append(FieldMistake((field.encode_name,), what))
        if self.permit_waiting_time_seconds is not None and self.default_timeout not in (
            DEFAULT_TIMEOUT,
            self.permit_waiting_time_seconds,
        ):
            what = "permitWaitingTimeSeconds and defaultTimeout are two words for one thing: give one"
            mistakes.append(FieldMistake(("permitWaitingTimeSeconds",), what, ("defaultTimeout",)))
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
        waiting = self.permit_waiting_time_seconds
        timeout = self.default_timeout if waiting is None else waiting
        return GangRules(POLICIES[self.default_match_policy], float(timeout))
