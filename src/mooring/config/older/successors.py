"""What became of the plugins, fields and versions that Kubernetes removed."""

from __future__ import annotations

from typing import Final

GROUP: Final = "kubescheduler.config.k8s.io/"
REMOVED_IN: Final = {  # versions of KubeSchedulerConfiguration, and the release that no longer reads them
    "v1alpha1": "1.19",
    "v1alpha2": "1.20",
    "v1beta1": "1.23",
    "v1beta2": "1.28",
    "v1beta3": "1.29",
}

SCORING: Final = {  # plugins that became scoring strategies of NodeResourcesFit
    "NodeResourcesLeastAllocated": "LeastAllocated",
    "NodeResourcesMostAllocated": "MostAllocated",
    "RequestedToCapacityRatio": "RequestedToCapacityRatio",
}
LIMITS: Final = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")

_SPREAD = "PodTopologySpread does its work, with defaultingType System or defaultConstraints of your own."
PLUGINS: Final[dict[str, str]] = {
    **dict.fromkeys(LIMITS, "NodeVolumeLimits does its work."),
    **{name: f"It is NodeResourcesFit with scoringStrategy.type {kind}." for name, kind in SCORING.items()},
    "SelectorSpread": _SPREAD,
    "DefaultPodTopologySpread": _SPREAD,
    "ServiceAffinity": "Pods say it with podAffinity: InterPodAffinity does the work.",
    "NodeLabel": "NodeAffinity does its work, with addedAffinity.",
    "NodePreferAvoidPods": "Taints with effect PreferNoSchedule do its work: TaintToleration.",
    "NodeResourceLimits": "Nothing takes its place: what a pod needs are its requests.",
}

# plugins of kube-scheduler that only serve groups of pods; enabling one here changes nothing
OF_GROUPS: Final = ("GangScheduling", "TopologyPlacementGenerator", "PodGroupPodsCount")
LEFT_OUT: Final = ("NodeDeclaredFeatures",)  # plugins of kube-scheduler that are not here
PLACEMENTS: Final = {  # the plugins kube-scheduler has at the points for groups
    "placementGenerate": ("TopologyPlacementGenerator",),
    "placementScore": ("NodeResourcesFit", "PodGroupPodsCount"),
}

_SERVED = "Health and metrics are served where --bind-address and --secure-port say."
_PROFILE = "It belongs to a profile: profiles[]."
FIELDS: Final[dict[str, str]] = {
    "healthzBindAddress": _SERVED,
    "metricsBindAddress": _SERVED,
    "algorithmSource": "Profiles say which plugins run.",
    "schedulerName": _PROFILE + "schedulerName.",
    "plugins": _PROFILE + "plugins.",
    "pluginConfig": _PROFILE + "pluginConfig.",
    "hardPodAffinitySymmetricWeight": "It is hardPodAffinityWeight in the args of InterPodAffinity.",
    "bindTimeoutSeconds": "It is bindTimeoutSeconds in the args of VolumeBinding.",
    "disablePreemption": "Disable DefaultPreemption at postFilter.",
    "featureGates": "Gates are given with --feature-gates.",
}
ELECTION_FIELDS: Final = {
    "lockObjectNamespace": "It is resourceNamespace.",
    "lockObjectName": "It is resourceName.",
}
POINT_FIELDS: Final = {"unreserve": "Plugins that reserve also take back: it is reserve."}
EXTENDER_FIELDS: Final = {"enableHttps": "It is enableHTTPS.", "apiVersion": "An extender has no version."}

POLICY: Final = (
    "a scheduling Policy was removed in Kubernetes 1.23; expected a KubeSchedulerConfiguration, in which "
    "predicates are filter plugins and priorities score plugins. `mooring check --convert` writes it."
)


def removed_plugin(name: str) -> str:
    return f'plugin "{name}" was removed from Kubernetes. {PLUGINS[name]}'


def removed_field(name: str, instead: str) -> str:
    return f'field "{name}" was removed from Kubernetes. {instead}'


def removed_version(version: str) -> str:
    """What to say of an apiVersion that was; "" of any other."""
    gone = REMOVED_IN.get(version.removeprefix(GROUP)) if version.startswith(GROUP) else None
    if gone is None:
        return ""
    what = f'apiVersion "{version}" was removed in Kubernetes {gone}; convert the file to "{GROUP}v1"'
    return f"{what}: `mooring check --convert` writes it."
