"""The labels and annotations by which pods and pod groups say how they belong together."""

from __future__ import annotations

# Koordinator
POD_GROUP_LABEL = "pod-group.scheduling.sigs.k8s.io"
LIGHT_NAME = "pod-group.scheduling.sigs.k8s.io/name"
LIGHT_MIN = "pod-group.scheduling.sigs.k8s.io/min-available"
LIGHT_MATCH_POLICY = "pod-group.scheduling.sigs.k8s.io/match-policy"
NAME = "gang.scheduling.koordinator.sh/name"
MIN_AVAILABLE = "gang.scheduling.koordinator.sh/min-available"
TOTAL_NUMBER = "gang.scheduling.koordinator.sh/total-number"
MODE = "gang.scheduling.koordinator.sh/mode"
MATCH_POLICY = "gang.scheduling.koordinator.sh/match-policy"
WAITING_TIME = "gang.scheduling.koordinator.sh/waiting-time"
GROUPS = "gang.scheduling.koordinator.sh/groups"
TOPOLOGY_SPEC = "gang.scheduling.koordinator.sh/network-topology-spec"
TOPOLOGY_INDEX = "gang.scheduling.koordinator.sh/network-topology-index"
SUB_PRIORITY = "koordinator.sh/priority"

# written to pods that start together
BIND_GROUP_ID = "internal.scheduling.koordinator.sh/bind-gang-group-id"
BIND_MEMBER_COUNT = "internal.scheduling.koordinator.sh/bind-gang-member-count"
OLD_BIND_GROUP_ID = "scheduling.koordinator.sh/bind-gang-group-id"
OLD_BIND_MEMBER_COUNT = "scheduling.koordinator.sh/bind-gang-member-count"

# scheduler-plugins, KAI, Volcano
PLUGINS_LABEL = "scheduling.x-k8s.io/pod-group"
KAI_POD_GROUP = "pod-group-name"
KAI_SUB_GROUP = "kai.scheduler/subgroup-name"
VOLCANO_POD_GROUP = "scheduling.k8s.io/group-name"
VOLCANO_TASK = "volcano.sh/task-spec"

# A pod with none of these belongs to no gang, unless its spec says so.
NAMING_LABELS = frozenset({POD_GROUP_LABEL, LIGHT_NAME, PLUGINS_LABEL})
NAMING_ANNOTATIONS = frozenset({NAME, KAI_POD_GROUP, VOLCANO_POD_GROUP})
