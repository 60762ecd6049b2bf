"""The same object given twice: once is enough if they are equal, and a mistake if they are not.

Kinds that decide nothing about where pods go may differ, and so may files further down in a named folder:
overlays, examples, the same for other clusters. The first counts, and a note tells.
"""

from __future__ import annotations

from typing import Any

from mooring.errors import Mistake
from mooring.sim.manifests.located_value import Spot
from mooring.sim.manifests.notes import Notes
from mooring.sim.manifests.sources import Sources
from mooring.sim.world.defaults import DEFAULT_NAMESPACE
from mooring.sim.world.known_kinds import scopes_of

EQUAL = "the same object again, and equal; it is one"
DIFFERENT = "{} is given twice and differently; the first is at {}."
HARMLESS = "given again and differently; the first counts, and decides nothing about where pods go"
ALTERNATIVE = "given again and differently; the first counts: name the file or folder that is meant"
DECIDES_NOTHING = frozenset({
    "APIService", "ClusterRole", "ClusterRoleBinding", "ConfigMap", "CustomResourceDefinition", "Endpoints",
    "EndpointSlice", "Event", "FlowSchema", "HorizontalPodAutoscaler", "Ingress", "IngressClass", "Lease",
    "MutatingWebhookConfiguration", "NetworkPolicy", "PodSecurityPolicy", "PriorityLevelConfiguration",
    "Role", "RoleBinding", "Secret", "Service", "ServiceAccount", "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding", "ValidatingWebhookConfiguration",
})  # fmt: skip

Identity = tuple[str, str, str]  # API group, kind, key


class Once:
    """Keeps the first of each object; `mistakes` has those that are given twice and differently."""

    def __init__(self, spots: list[Spot], sources: Sources, notes: Notes) -> None:
        self.mistakes: list[Mistake] = []
        self.spots: list[Spot] = []
        self._sources = sources
        self._notes = notes
        self._first: dict[Identity, Spot] = {}
        self._cluster_wide = scopes_of(
            [spot.value for spot in spots if spot.value["kind"] == "CustomResourceDefinition"]
        )
        for spot in spots:
            self._take(spot)

    def _take(self, spot: Spot) -> None:
        name = spot.child("metadata", "name").value
        if name is None:  # the cluster will make one up from generateName
            self.spots.append(spot)
            return
        kind, api_version = spot.value["kind"], spot.value["apiVersion"]
        namespace = spot.child("metadata", "namespace").value or DEFAULT_NAMESPACE
        key = str(name) if kind in self._cluster_wide else f"{namespace}/{name}"
        identity = (api_version.rpartition("/")[0], kind, key)
        first = self._first.setdefault(identity, spot)
        if first is spot:
            self.spots.append(spot)
        else:
            self._again(spot, first, f"{kind} {key}")

    def _again(self, spot: Spot, first: Spot, what: str) -> None:
        place, there = (each.child("metadata", "name").place for each in (spot, first))
        if _comparable(spot.value) == _comparable(first.value):
            self._notes.add(EQUAL, place)
        elif spot.value["kind"] == "Namespace":
            _join_labels(first, spot)
        elif spot.value["kind"] in DECIDES_NOTHING:
            self._notes.add(HARMLESS, f"{place} ({what})")
        elif any(map(self._sources.is_further_down, (first.document, spot.document))):
            self._notes.add(ALTERNATIVE, f"{place} ({what}, first at {there})")
        else:
            self.mistakes.append(Mistake(place, DIFFERENT.format(what, there)))


def _comparable(data: dict[str, Any]) -> Any:
    """What is said of the object: nulls and an empty status say nothing, nor the default namespace."""
    rest = {key: value for key, value in data.items() if key != "status" or value}
    meta = {**(data.get("metadata") or {})}
    meta["namespace"] = meta.get("namespace") or DEFAULT_NAMESPACE
    return _without_nulls({**rest, "metadata": meta})


def _without_nulls(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _without_nulls(value) for key, value in data.items() if value is not None}
    if isinstance(data, list):
        return [_without_nulls(value) for value in data]
    return data


def _join_labels(first: Spot, again: Spot) -> None:
    """Applied one after the other, a namespace has the labels of both."""
    here, there = first.value["metadata"], again.value.get("metadata") or {}
    labels = there.get("labels")
    if isinstance(labels, dict) and isinstance(here.get("labels") or {}, dict):
        here["labels"] = {**(here.get("labels") or {}), **labels}
