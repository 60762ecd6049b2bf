"""The gang that wants room: which of its members need a place, and what for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from mooring.cluster.column import Ints
from mooring.cluster.columns import Bools
from mooring.cluster.nodes import NodeTable
from mooring.framework.api.capacity import Alike, Freed, room_for
from mooring.framework.api.grouping import Group, GroupTrial
from mooring.framework.api.node_trial import Demand
from mooring.framework.api.status import Code, Status
from mooring.model.objects import Pod

Starts = Callable[[Collection[str]], bool]


class Candidate(NamedTuple):
    """A member that may get a place, or why it never does."""

    pod: Pod
    refusal: Status | None


def candidates(trial: GroupTrial) -> list[Candidate]:
    """The members, in their order. One that is refused for good before any node is asked gets no place,
    whoever goes."""
    return [Candidate(pod, _refusal(trial.demand(pod.metadata.uid))) for pod in trial.room().members]


def _refusal(demand: Demand | Status | None) -> Status | None:
    if isinstance(demand, Status) and demand.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
        return demand
    return None


def needed_of(
    group: Group, members: Sequence[Candidate], starts: Starts, placed: Mapping[str, str]
) -> list[Pod]:
    """As few members as it takes for a group to start, in their order. None at all when there are too few."""
    if group.strict:
        return _first(group.strict, members, starts)
    return _fewest([member.pod for member in members if member.refusal is None], starts, placed)


def _first(strict: Collection[str], members: Sequence[Candidate], starts: Starts) -> list[Pod]:
    """The first of them: all those without which it does not start have to fit until it does."""
    found: dict[str, Pod] = {}
    for pod, refusal in members:
        if refusal is None:
            found[pod.metadata.uid] = pod
            if starts(found.keys()):
                return list(found.values())
        elif pod.metadata.uid in strict:
            break
    return []


def _fewest(members: Sequence[Pod], starts: Starts, placed: Mapping[str, str]) -> list[Pod]:
    """The most important, who would take the place of others, then those that have a place anyway."""
    order = sorted(members, key=lambda pod: (-pod.priority, pod.metadata.uid not in placed))
    left = {pod.metadata.uid: pod for pod in order}
    if not starts(left.keys()):
        return []
    for pod in reversed(order):
        del left[pod.metadata.uid]
        if not starts(left.keys()):
            left[pod.metadata.uid] = pod
    return [pod for pod in members if pod.metadata.uid in left]


class Preemptor:
    """The members that are to get places, and what they need."""

    def __init__(self, pods: Sequence[Pod], trial: GroupTrial, nodes: NodeTable) -> None:
        self.pods = pods
        self.uids = [pod.metadata.uid for pod in pods]
        self.priority = min(pod.priority for pod in pods)
        self._nodes = nodes
        self._demands: dict[str, Demand | None] = {}
        for uid in self.uids:
            demand = trial.demand(uid)
            self._demands[uid] = None if isinstance(demand, Status) else demand

    def demand(self, uid: str) -> Demand | None:
        return self._demands[uid]

    @property
    def known(self) -> bool:
        """Whether it is known of all what must be free for them."""
        return None not in self._demands.values()

    @property
    def alone(self) -> bool:
        """Whether free resources of a node decide, and nothing else."""
        return all(demand is not None and demand.alone for demand in self._demands.values())

    @property
    def alike(self) -> bool:
        return len({id(demand) for demand in self._demands.values()}) == 1

    def resources(self) -> set[str]:
        """The resources that matter."""
        return {name for demand in self._demands.values() if demand for name, _ in demand.amounts}

    def may_use(self) -> Bools:
        """The rows some member may use, whoever goes."""
        nodes = self._nodes
        if not self.known:
            return nodes.alive[: nodes.high].copy()
        found: Bools = np.zeros(nodes.high, np.bool_)
        for demand in self._distinct():
            found |= demand.open[: nodes.high]
        return found

    def offers(self, freed: Freed) -> Ints:
        """How many members each row takes at most, in their order."""
        return room_for(self._nodes, _runs(self._demands.values()), freed)

    def takes(self, uid: str, freed: Freed) -> Ints:
        """How many members like one of them each row takes at most; 1 where that is not known."""
        demand = self._demands[uid]
        if demand is None:
            return self._nodes.alive[: self._nodes.high].astype(np.int64)
        return room_for(self._nodes, (Alike(demand, len(self.uids)),), freed)

    def most(self, freed: Freed) -> int:
        """How many members have a place at most: fewer than all means that no eviction helps."""
        wanted: dict[int, list[str]] = {}
        for uid, demand in self._demands.items():
            wanted.setdefault(id(demand), []).append(uid)
        return sum(min(len(uids), int(self.takes(uids[0], freed).sum())) for uids in wanted.values())

    def _distinct(self) -> Iterable[Demand]:
        return {id(demand): demand for demand in self._demands.values() if demand is not None}.values()


def _runs(demands: Iterable[Demand | None]) -> list[Alike]:
    runs: list[Alike] = []
    for demand in demands:
        if demand is None:
            break
        if runs and runs[-1].demand is demand:
            runs[-1] = runs[-1]._replace(size=runs[-1].size + 1)
        else:
            runs.append(Alike(demand, 1))
    return runs
