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
from mooring.framework.api.answers import shown
from mooring.model.objects import Pod
from mooring.workloads.keys import TOPOLOGY_SPEC

SELECTOR_ANNOTATION = "scheduling.koordinator.sh/network-topology-selector"

MUST, PREFER = "MustGather", "PreferGather"
NOT_BY_GROUP = "is {}, and Mooring plans for a PodGroup as a whole only: none of its pods is placed"
HARD, SOFT = "hard", "soft"
TIER = "tier "
INT32 = 2**31 - 1


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
    except (msgspec.DecodeError, RecursionError) as error:
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
        raise ManifestError.at(
            f"{place}.strategy", f"must be {MUST} or {PREFER}, not {shown(strategy)}.{near}"
        )
    if type(multiple) is not int or not 0 <= multiple <= INT32:
        what = f"must be a number of pods, not {shown(multiple)}"
        raise ManifestError.at(f"{place}.podCountMultiple", what)
    return GatherRule(layer, strategy, max(multiple, 1), f"{place}.layer")


def wish_of_kai(constraint: Any, field: str = "spec.topologyConstraint") -> Wish | None:
    """KAI's constraint: must stay in a domain of the required level, would rather in one of the preferred.
    None when it names no topology. Raises ManifestError."""
    if not constraint and (constraint is None or isinstance(constraint, dict)):
        return None
    words = {"requiredTopologyLevel": MUST, "preferredTopologyLevel": PREFER}
    given = {name: _text(constraint, name, field) for name in ("topology", *words)}
    if not (topology := given["topology"]):
        return None
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


def wish_of_kubernetes(constraints: Any, field: str = "spec.schedulingConstraints") -> Wish | None:
    """Kubernetes' constraint: all pods on nodes with the same value of a label. Raises ManifestError."""
    listed = _of_object(constraints, "topology", field) if constraints is not None else None
    if listed is not None and not isinstance(listed, list | tuple):
        raise ManifestError.at(f"{field}.topology", f"must be a list, not {shown(listed)}")
    places = ((each, f"{field}.topology[{number}]") for number, each in enumerate(listed or ()))
    keys = [key for each, place in places if (key := _text(each, "key", place))]
    if len(keys) > 1:
        raise ManifestError.at(f"{field}.topology", "must not have more than one key")
    return Wish((GatherRule(keys[0], MUST),), label=keys[0]) if keys else None


def _of_object(data: Any, name: str, field: str) -> Any:
    if not isinstance(data, Mapping):
        raise ManifestError.at(field, f"must be an object, not {shown(data)}")
    return data.get(name)


def _text(data: Any, name: str, field: str) -> str:
    """A text of an object; "" when there is none."""
    found = _of_object(data, name, field)
    if found is not None and not isinstance(found, str):
        raise ManifestError.at(f"{field}.{name}", f"must be a text, not {shown(found)}")
    return found or ""


def selector_of(pod: Pod) -> str:
    """Pods of equal selectors are drawn to each other."""
    return pod.metadata.annotations.get(SELECTOR_ANNOTATION, "")
