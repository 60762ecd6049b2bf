"""Scheduling Policies, which kube-scheduler read until 1.22, as plugins of a profile.

A Policy that lists predicates or priorities runs only those; one that does not runs the default ones.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from mooring.config.scheduler import DEFAULT_SCHEDULER_NAME

Data = dict[str, Any]
Note = Callable[[str], None]

FILTERS: dict[str, tuple[str, ...]] = {  # predicates
    "GeneralPredicates": ("NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"),
    "PodFitsResources": ("NodeResourcesFit",),
    "PodFitsHostPorts": ("NodePorts",),
    "PodFitsPorts": ("NodePorts",),
    "HostName": ("NodeName",),
    "MatchNodeSelector": ("NodeAffinity",),
    "NoDiskConflict": ("VolumeRestrictions",),
    "NoVolumeZoneConflict": ("VolumeZone",),
    "MaxCSIVolumeCountPred": ("NodeVolumeLimits",),
    "MaxEBSVolumeCount": ("NodeVolumeLimits",),
    "MaxGCEPDVolumeCount": ("NodeVolumeLimits",),
    "MaxAzureDiskVolumeCount": ("NodeVolumeLimits",),
    "MaxCinderVolumeCount": ("NodeVolumeLimits",),
    "CheckVolumeBinding": ("VolumeBinding",),
    "CheckNodeUnschedulable": ("NodeUnschedulable",),
    "PodToleratesNodeTaints": ("TaintToleration",),
    "MatchInterPodAffinity": ("InterPodAffinity",),
    "EvenPodsSpread": ("PodTopologySpread",),
}
ALWAYS = ("NodeUnschedulable", "TaintToleration")  # mandatory whatever a Policy said
SCORERS: dict[str, str] = {  # priorities; the three that score resources are converted with the plugin lists
    "LeastRequestedPriority": "NodeResourcesLeastAllocated",
    "MostRequestedPriority": "NodeResourcesMostAllocated",
    "RequestedToCapacityRatioPriority": "RequestedToCapacityRatio",
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "NodeAffinityPriority": "NodeAffinity",
    "TaintTolerationPriority": "TaintToleration",
    "InterPodAffinityPriority": "InterPodAffinity",
    "ImageLocalityPriority": "ImageLocality",
    "EvenPodsSpreadPriority": "PodTopologySpread",
    "SelectorSpreadPriority": "SelectorSpread",
    "ServiceSpreadingPriority": "SelectorSpread",
    "NodePreferAvoidPodsPriority": "NodePreferAvoidPods",
}


def from_policy(policy: Data, note: Note) -> Data:
    """The Policy as a configuration; names that v1 has not are left to whoever converts plugin lists."""
    plugins: Data = {}
    profile: Data = {"schedulerName": DEFAULT_SCHEDULER_NAME, "plugins": plugins}
    if isinstance(policy.get("predicates"), list):
        names = [name for each in policy["predicates"] for name in _filters(each, note)]
        entries = [{"name": name} for name in dict.fromkeys((*ALWAYS, *names))]
        plugins["filter"] = {"enabled": entries, "disabled": [{"name": "*"}]}
    if isinstance(policy.get("priorities"), list):
        found = [one for each in policy["priorities"] for one in _scorers(each, profile, note)]
        plugins["score"] = {"enabled": found, "disabled": [{"name": "*"}]}
    new: Data = {"profiles": [profile]}
    if policy.get("extenders"):
        new["extenders"] = copy.deepcopy(policy["extenders"])
    if (weight := policy.get("hardPodAffinitySymmetricWeight")) is not None:
        new["hardPodAffinitySymmetricWeight"] = weight
    if policy.get("alwaysCheckAllPredicates"):
        note("alwaysCheckAllPredicates is left out: a node is rejected by the first filter that says no.")
    return new


def _filters(predicate: Any, note: Note) -> tuple[str, ...]:
    name = str(predicate.get("name")) if isinstance(predicate, dict) else str(predicate)
    if name not in FILTERS:
        note(f'predicate "{name}" is left out: no plugin takes its place.')
    return FILTERS.get(name, ())


def _scorers(priority: Any, profile: Data, note: Note) -> list[Data]:
    entry = priority if isinstance(priority, dict) else {"name": priority}
    name = str(entry.get("name"))
    argument = entry.get("argument")
    ratio = argument.get("requestedToCapacityRatioArguments") if isinstance(argument, dict) else None
    plugin = "RequestedToCapacityRatio" if ratio else SCORERS.get(name)
    if plugin is None:
        note(f'priority "{name}" is left out: no plugin takes its place.')
        return []
    if isinstance(ratio, dict):
        shape = [
            {"utilization": p.get("utilization", 0), "score": p.get("score", 0)}
            for p in ratio.get("shape", ())
        ]
        profile.setdefault("pluginConfig", []).append(
            {"name": plugin, "args": {"shape": shape, "resources": ratio.get("resources")}}
        )
    weight = entry.get("weight")
    return [{"name": plugin, "weight": weight} if weight else {"name": plugin}]
