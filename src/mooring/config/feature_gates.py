"""Kubernetes feature gates that change scheduling, as of 1.36, and `--feature-gates`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from mooring.config.other_gates import ALPHA_OFF, BETA_OFF, BETA_ON
from mooring.errors import InputError, Mistake, did_you_mean

FLAG = "--feature-gates"
TRUE = frozenset({"1", "t", "T", "true", "True", "TRUE"})
FALSE = frozenset({"0", "f", "F", "false", "False", "FALSE"})


class Gate(msgspec.Struct, frozen=True):
    stage: Literal["GA", "beta", "alpha"]
    default: bool
    locked: bool = False
    needs: tuple[str, ...] = ()


_LOCKED = Gate("GA", default=True, locked=True)
_GA = Gate("GA", default=True)
_BETA = Gate("beta", default=True)
_BETA_OFF = Gate("beta", default=False)
_ALPHA = Gate("alpha", default=False)

GATES: Final[Mapping[str, Gate]] = {
    "SchedulerQueueingHints": _LOCKED,
    "SchedulerPopFromBackoffQ": _BETA,
    "SchedulerAsyncPreemption": _BETA,
    "SchedulerAsyncAPICalls": _BETA_OFF,
    "NominatedNodeNameForExpectation": _BETA,
    "ClearingNominatedNodeNameAfterBinding": _BETA,
    "OpportunisticBatching": _BETA,
    "NodeDeclaredFeatures": _BETA,
    "DynamicResourceAllocation": _LOCKED,
    "DRAPrioritizedList": _GA,
    "DRAAdminAccess": _GA,
    "DRAExtendedResource": _BETA,
    "DRADeviceBindingConditions": _BETA,
    "DRAPartitionableDevices": _BETA,
    "DRAConsumableCapacity": _BETA,
    "DRADeviceTaints": _BETA,
    "DRASchedulerFilterTimeout": _BETA,
    "DRAResourceClaimDeviceStatus": _BETA,
    "DRAResourceClaimGranularStatusAuthorization": _BETA,
    "DRADeviceTaintRules": _BETA_OFF,
    "DRANodeAllocatableResources": _ALPHA,
    "DRAWorkloadResourceClaims": _ALPHA,
    "DRAListTypeAttributes": _ALPHA,
    "GenericWorkload": _ALPHA,
    "GangScheduling": Gate("alpha", default=False, needs=("GenericWorkload",)),
    "TopologyAwareWorkloadScheduling": Gate("alpha", default=False, needs=("GenericWorkload",)),
    "WorkloadAwarePreemption": Gate("alpha", default=False, needs=("GangScheduling",)),
    "InPlacePodVerticalScaling": _LOCKED,
    "PodLevelResources": _BETA,
    "InPlacePodLevelResourcesVerticalScaling": _BETA,
    "SidecarContainers": _LOCKED,
    "NodeInclusionPolicyInPodTopologySpread": _LOCKED,
    "MatchLabelKeysInPodAffinity": _LOCKED,
    "VolumeAttributesClass": _LOCKED,
    "MatchLabelKeysInPodTopologySpread": _BETA,
    "MatchLabelKeysInPodTopologySpreadSelectorMerge": _BETA,
    "TaintTolerationComparisonOperators": _ALPHA,
    "StorageCapacityScoring": _ALPHA,
    "VolumeLimitScaling": _ALPHA,
    "CoordinatedLeaderElection": _BETA_OFF,
}
OTHERS: Final[Mapping[str, Gate]] = {
    **dict.fromkeys(ALPHA_OFF, _ALPHA),
    **dict.fromkeys(BETA_ON, _BETA),
    **dict.fromkeys(BETA_OFF, _BETA_OFF),
}
WHOLE_STAGES: Final[Mapping[str, str]] = {"AllAlpha": "alpha", "AllBeta": "beta"}


class FeatureGates(msgspec.Struct, frozen=True):
    """The defaults with what was set on the command line."""

    given: dict[str, bool] = {}
    other: dict[str, bool] = {}  # given as well, and without effect on scheduling

    def enabled(self, name: str) -> bool:
        """Whether a gate is on; what is said of one gate outweighs what is said of its stage."""
        gate = GATES.get(name) or OTHERS[name]
        said = self.given if name in GATES else self.other
        if name in said:
            return said[name]
        stages = [
            whole for whole, stage in WHOLE_STAGES.items() if stage == gate.stage and whole in self.given
        ]
        return self.given[stages[0]] if stages else gate.default


def parse_feature_gates(text: str) -> FeatureGates:
    """The gates of "A=true,kube:B=false"; InputError with every mistake."""
    given: dict[str, bool] = {}
    other: dict[str, bool] = {}
    mistakes: list[str] = []
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, value = (word.strip() for word in part.removeprefix("kube:").partition("="))
        what = _wrong(name, value, part)
        if what:
            mistakes.append(what)
        else:
            (other if name in OTHERS else given)[name] = value in TRUE
    gates = FeatureGates(given, other)
    mistakes += [] if mistakes else _unmet(gates)
    if mistakes:
        raise InputError([Mistake(FLAG, what) for what in mistakes])
    return gates


def _wrong(name: str, value: str, part: str) -> str:
    if "=" not in part:
        return f'missing value in "{part}"; write it like "{name}=true".'
    if name not in GATES and name not in WHOLE_STAGES and name not in OTHERS:
        return f"unrecognized feature gate: {name}.{did_you_mean(name, [*GATES, *WHOLE_STAGES])}"
    if value not in TRUE and value not in FALSE:
        return f'invalid value of {name}: expected true or false, got "{value}".'
    gate = GATES.get(name)
    if gate is not None and gate.locked and (value in TRUE) != gate.default:
        on = str(gate.default).lower()
        return f"cannot set feature gate {name} to {value}, feature is locked to {on}."
    return ""


def _unmet(gates: FeatureGates) -> list[str]:
    return [
        f"{name} is enabled, but depends on features that are disabled: {need}."
        for name, gate in GATES.items()
        for need in gate.needs
        if gates.enabled(name) and not gates.enabled(need)
    ]
