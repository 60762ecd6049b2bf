"""The plugins of a profile that says nothing, in kube-scheduler's order and with its weights.

Coscheduling is Mooring's addition: a gang needs no configuration, and a pod without one does not notice.
Gates that are on by default are taken into account; the plugins of those that are off are not here.
"""

from __future__ import annotations

from typing import Final

from mooring.config.catalogue import PluginUse

DEFAULT_MULTI_POINT: Final[tuple[PluginUse, ...]] = (
    PluginUse("SchedulingGates"),
    PluginUse("Coscheduling"),
    PluginUse("PrioritySort"),
    PluginUse("NodeUnschedulable"),
    PluginUse("NodeName"),
    PluginUse("TaintToleration", weight=3),
    PluginUse("NodeAffinity", weight=2),
    PluginUse("NodePorts"),
    PluginUse("NodeResourcesFit"),
    PluginUse("VolumeRestrictions"),
    PluginUse("NodeVolumeLimits"),
    PluginUse("VolumeBinding"),
    PluginUse("VolumeZone"),
    PluginUse("PodTopologySpread", weight=2),
    PluginUse("InterPodAffinity", weight=2),
    PluginUse("DynamicResources", weight=2),
    PluginUse("DefaultPreemption"),
    PluginUse("NodeResourcesBalancedAllocation"),
    PluginUse("ImageLocality"),
    PluginUse("DefaultBinder"),
    PluginUse("NodeDeclaredFeatures"),
)
