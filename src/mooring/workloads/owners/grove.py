"""Grove's PodCliqueSets: cliques, scaling groups of cliques, and the gangs they make up.

Each replica of the set has a base gang of its own cliques and of as many replicas of scaling groups as
have to be there; every further replica of a scaling group is a gang that comes when the base is there.
"""

from __future__ import annotations

from typing import Any

from mooring.workloads.owners.paths import mapping, mappings, number, word
from mooring.workloads.owners.rows import READY, DeclaredGang, Expansion, Find, PodSet
from mooring.workloads.owners.table import KAI

GROUP, TOPOLOGY = "grove.io", "grove-topology"
TOPOLOGY_KINDS = ("ClusterTopology", "ClusterTopologyBinding")


def read_pod_clique_set(data: dict[str, Any], find: Find) -> Expansion:
    return CliqueSet(data, find).expansion()


class CliqueSet:
    def __init__(self, data: dict[str, Any], find: Find) -> None:
        self._data = data
        self._name = str(mapping(data, "metadata").get("name") or "")
        self._template = mapping(data, "spec.template")
        self._cliques = {word(each, "name"): each for each in mappings(self._template, "cliques")}
        self._scaled = mappings(self._template, "podCliqueScalingGroups") or mappings(
            self._template, "podCliqueScalingGroupConfigs"
        )
        found = (find(GROUP, kind, "", TOPOLOGY) for kind in TOPOLOGY_KINDS)
        self._levels = mappings(next((each for each in found if each), None), "spec.levels")
        self._sets: list[PodSet] = []
        self._gangs: list[DeclaredGang] = []

    def expansion(self) -> Expansion:
        replicas = number(self._data, "spec.replicas")
        for replica in range(1 if replicas is None else replicas):
            self._replica(f"{self._name}-{replica}")
        return Expansion(tuple(self._sets), tuple(self._gangs), objects=self._topology_object())

    def _replica(self, base: str) -> None:
        names_scaled = {name for group in self._scaled for name in _names(group)}
        members: list[tuple[str, str, dict[str, Any]]] = [  # its name, its clique, what its group wishes
            (f"{base}-{name}", name, {}) for name in self._cliques if name not in names_scaled
        ]
        more: list[tuple[str, list[tuple[str, str, dict[str, Any]]]]] = []
        for group in self._scaled:
            least, count = number(group, "minAvailable"), number(group, "replicas")
            least, count = 1 if least is None else least, 1 if count is None else count
            wish = self._wish(group)
            for index in range(count):
                below = f"{base}-{word(group, 'name')}-{index}"
                own = [(f"{below}-{name}", name, wish) for name in _names(group) if name in self._cliques]
                if index < least:
                    members += own
                else:
                    more.append((f"{base}-{word(group, 'name')}-{index - least}", own))
        first = self._gang(base, members, after=())
        for name, own in more:
            self._gang(name, own, after=tuple((each, READY) for each in first), whole=True)

    def _gang(
        self,
        name: str,
        members: list[tuple[str, str, dict[str, Any]]],
        after: tuple[tuple[str, str], ...],
        *,
        whole: bool = False,
    ) -> list[str]:
        """Adds a gang of cliques; the names of its sets. What a `whole` group wishes, the gang does."""
        parts: dict[str, int] = {}
        wishes: dict[str, dict[str, Any]] = {}
        topology = self._wish(self._template)
        for full, clique, wish in members:
            spec = mapping(self._cliques[clique], "spec")
            count, least = number(spec, "replicas"), number(spec, "minAvailable")
            count = count or 1
            parts[full] = count if least is None else min(least, count)
            if whole and wish:
                topology = wish
            if own := self._wish(self._cliques[clique]) or (wish if not whole else {}):
                wishes[full] = own
            self._sets.append(self._set(full, clique, spec, count, name, after))
        if parts:
            least = sum(parts.values())
            self._gangs.append(
                DeclaredGang(
                    name=name,
                    dialect=KAI,
                    least=least,
                    parts=parts,
                    topology=topology,
                    part_topologies=wishes,
                )
            )
        return list(parts)

    def _set(
        self,
        full: str,
        clique: str,
        spec: dict[str, Any],
        count: int,
        gang: str,
        after: tuple[tuple[str, str], ...],
    ) -> PodSet:
        written = self._cliques[clique]
        meta = {key: mapping(written, key) for key in ("labels", "annotations")}
        return PodSet(
            name=full,
            template={"metadata": meta, "spec": mapping(spec, "podSpec")},
            count=count,
            total=count,
            base=f"{full}-",
            labels={
                "app.kubernetes.io/part-of": self._name,
                "grove.io/podclique": full,
                "grove.io/podgang": gang,
            },
            gang=gang,
            part=full,
            after=after,
        )

    def _wish(self, of: dict[str, Any]) -> dict[str, Any]:
        """A pack domain as KAI has it; the level is named as written where nothing says what it is."""
        domain = word(of, "topologyConstraint.packDomain")
        if not domain:
            return {}
        keys = {word(level, "domain"): word(level, "key") for level in self._levels}
        return {"topology": TOPOLOGY, "requiredTopologyLevel": keys.get(domain, domain)}

    def _topology_object(self) -> tuple[dict[str, Any], ...]:
        if not self._levels:
            return ()
        levels = [{"nodeLabel": word(level, "key")} for level in self._levels]
        meta = {"name": TOPOLOGY}
        made = {"apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "metadata": meta}
        return ({**made, "spec": {"levels": levels}},)


def _names(group: dict[str, Any]) -> list[str]:
    listed = group.get("cliqueNames")
    return [str(each) for each in listed] if isinstance(listed, list) else []
