"""What a gang wishes of the network: which layers it must or would rather stay within.

Koordinator's is JSON in an annotation of pods and PodGroups, KAI's is `spec.topologyConstraint` of its
PodGroup, Volcano's `spec.networkTopology`, Kubernetes' `spec.schedulingConstraints` of its own. All of them
come down to gather rules and the layers they are about. What must hold and cannot be planned for is a
mistake: the gang waits and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from mooring.errors import ManifestError, did_you_mean
from mooring.model.objects import Pod
from mooring.workloads.keys import TOPOLOGY_SPEC

SELECTOR_ANNOTATION = "scheduling.koordinator.sh/network-topology-selector"

MUST, PREFER = "MustGather", "PreferGather"
NOT_BY_GROUP = "is {}, and Mooring plans for a PodGroup as a whole only: none of its pods is placed"
HARD, SOFT = "hard", "soft"
TIER = "tier "


class GatherRule(msgspec.Struct, frozen=True):
    """A layer to stay within one domain of, and how many pods may be in each domain of it: multiples."""

    layer: str
    strategy: str = PREFER
    multiple: int = 1
    field: str = ""  # where it was written, for messages


class Wish(msgspec.Struct, frozen=True):
    """Rules, and where their layers come from: the cluster's own, a KAI topology, a label of nodes, or
    Volcano's HyperNodes."""

    rules: tuple[GatherRule, ...]
    topology: str = ""  # the name of a KAI Topology
    label: str = ""
    hyper_nodes: bool = False


def wish_of_annotation(text: str) -> Wish:
    """`{"gatherStrategy":[{"layer":..,"strategy":..,"podCountMultiple":..}]}`. Raises ManifestError."""
    try:
        found = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ManifestError.at(TOPOLOGY_SPEC, f"not JSON: {error}") from error
    listed = found.get("gatherStrategy") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        raise ManifestError.at("gatherStrategy", "must be a list of rules")
    return Wish(tuple(_rule(each, f"gatherStrategy[{number}]") for number, each in enumerate(listed)))


def _rule(data: Any, place: str) -> GatherRule:
    if not isinstance(data, dict):
        raise ManifestError.at(place, "must be an object with layer and strategy")
    layer, strategy = data.get("layer"), data.get("strategy")
    multiple = data.get("podCountMultiple", 1)
    if not isinstance(layer, str) or not layer:
        raise ManifestError.at(f"{place}.layer", "must name a topology layer")
    if strategy not in (MUST, PREFER):
        near = did_you_mean(str(strategy), (MUST, PREFER))
        raise ManifestError.at(f"{place}.strategy", f"must be {MUST} or {PREFER}, not {strategy!r}.{near}")
    if not isinstance(multiple, int) or isinstance(multiple, bool) or multiple < 0:
        raise ManifestError.at(f"{place}.podCountMultiple", f"must be a number of pods, not {multiple!r}")
    return GatherRule(layer, strategy, max(multiple, 1), f"{place}.layer")


def wish_of_kai(constraint: Mapping[str, Any], field: str = "spec.topologyConstraint") -> Wish | None:
    """KAI's constraint: must stay in a domain of the required level, would rather in one of the preferred.
    None when it names no topology. Raises ManifestError."""
    topology = constraint.get("topology") or ""
    if not topology:
        return None
    words = {"requiredTopologyLevel": MUST, "preferredTopologyLevel": PREFER}
    given = {name: constraint.get(name) or "" for name in words}
    rules = [GatherRule(given[name], words[name], 1, f"{field}.{name}") for name in words if given[name]]
    if not rules:
        raise ManifestError.at(field, "needs a requiredTopologyLevel or a preferredTopologyLevel")
    return Wish(tuple(rules), topology=topology)


def wish_of_volcano(said: Mapping[str, Any], field: str = "spec.networkTopology") -> Wish | None:
    """Volcano's: hard, all pods in one HyperNode of a tier or below; soft, as close as can be. Raises
    ManifestError."""
    if not said:
        return None
    mode = said.get("mode") or HARD
    if mode not in (HARD, SOFT):
        near = did_you_mean(str(mode), (HARD, SOFT))
        raise ManifestError.at(f"{field}.mode", f"must be {HARD} or {SOFT}, not {mode!r}.{near}")
    tier, name = said.get("highestTierAllowed"), said.get("highestTierName")
    if mode == SOFT or (tier is None and not name):
        return Wish((), hyper_nodes=True)
    if tier is None:
        return Wish((GatherRule(str(name), MUST, 1, f"{field}.highestTierName"),), hyper_nodes=True)
    if not isinstance(tier, int) or isinstance(tier, bool) or tier < 0:
        raise ManifestError.at(f"{field}.highestTierAllowed", f"must be a number of a tier, not {tier!r}")
    return Wish((GatherRule(f"{TIER}{tier}", MUST, 1, f"{field}.highestTierAllowed"),), hyper_nodes=True)


def wish_of_kubernetes(constraints: Mapping[str, Any] | None) -> Wish | None:
    """Kubernetes' constraint: all pods on nodes with the same value of a label. Raises ManifestError."""
    listed = [key for entry in (constraints or {}).get("topology") or () if (key := entry.get("key"))]
    if len(listed) > 1:
        raise ManifestError.at("spec.schedulingConstraints.topology", "must not have more than one key")
    return Wish((GatherRule(listed[0], MUST),), label=listed[0]) if listed else None


def selector_of(pod: Pod) -> str:
    """Pods of equal selectors are drawn to each other."""
    return pod.metadata.annotations.get(SELECTOR_ANNOTATION, "")
