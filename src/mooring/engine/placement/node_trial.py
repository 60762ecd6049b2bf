"""Trying a node for a pod with some of the pods on it gone, and what the pod's filters demand of nodes."""

from __future__ import annotations

from typing import Self

import numpy as np
from msgspec.structs import replace

from mooring.cluster.columns import Bools
from mooring.cluster.pods import Placed
from mooring.engine.placement.lasting_answers import can_reject
from mooring.engine.placement.placing import Placer
from mooring.engine.placement.search import Search
from mooring.framework.api import answers
from mooring.framework.api.cycle import Cycle
from mooring.framework.api.domain import DomainPlugin
from mooring.framework.api.node_trial import Amounts, Demand
from mooring.framework.api.scope import Scope
from mooring.framework.api.status import Status
from mooring.framework.running.forms import Filter
from mooring.model.objects import Pod


class NodeTrial:
    """One node in one statement that is rolled back, with a copy of the cycle."""

    def __init__(self, placer: Placer, search: Search, node_name: str) -> None:
        self._placer = placer
        self._row = placer.cluster.nodes.rows[node_name]
        self._statement = placer.cluster.statement()
        self._removed: dict[str, Placed] = {}
        _prepared(search.pod_class.filters_in(search.cycle), search.cycle, search.pod)
        self._search = replace(search, cycle=search.cycle.clone())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._statement.roll_back()

    def remove(self, uid: str) -> None:
        placed = self._removed[uid] = self._statement.give_back(uid)
        self._tell("remove_pod", placed)

    def put_back(self, uid: str) -> None:
        placed = self._removed.pop(uid)
        self._statement.put_back(placed)
        self._tell("add_pod", placed)

    def status(self) -> Status | None:
        return self._placer.status(self._search, self._row)

    def _tell(self, point: str, placed: Placed) -> None:
        cycle, pod = self._search.cycle, self._search.pod
        row = self._row if placed.row is None else placed.row
        view = self._placer.view.view(row)
        for name, method, _ in self._search.pod_class.profile.at(point):
            if name not in cycle.skip_filter:
                answers.call(name, point, method, cycle, pod, placed.pod, view)


def demand_of(placer: Placer, search: Search) -> Demand | None:
    """What must be free for the pod, when the plugin that asks for it is the first to look at pods."""
    pod_class, cycle, pod = search.pod_class, search.cycle, search.pod
    if pod_class.profile.at("before_filter"):
        return None
    amounts: Amounts | None = None
    static: list[Filter] = []
    others: list[Filter] = []
    for form in pod_class.filters_in(cycle):
        if form.scope is Scope.STATIC:
            static.append(form)
        elif amounts is None and (asks := getattr(form.plugin, "amounts", None)) is not None:
            amounts = asks(pod)
        elif can_reject(form, cycle, pod):
            others.append(form)
            if amounts is None:
                return None
    if amounts is None:
        return None
    return Demand(
        amounts,
        placer.full.open_rows(pod_class, cycle, pod),
        frozenset(form.name for form in static),
        not others,
        OtherFilters.of(placer, others, cycle, pod) if others else None,
    )


class OtherFilters:
    """Filters that judge by domain, asked about rows whose pods they do not look at."""

    def __init__(self, placer: Placer, forms: list[Filter], cycle: Cycle, pod: Pod, matter: Bools) -> None:
        self._placer = placer
        self._forms = forms
        self._cycle = cycle
        self._pod = pod
        self.matter = matter

    @classmethod
    def of(cls, placer: Placer, forms: list[Filter], cycle: Cycle, pod: Pod) -> Self | None:
        """None when some of them do not say at whose pods they look."""
        if not _prepared(forms, cycle, pod):
            return None
        trial = cycle.clone()
        matter = np.zeros(placer.cluster.nodes.high, np.bool_)
        for form in forms:
            assert isinstance(form.plugin, DomainPlugin)
            rows = trial.read(form.plugin.state_key()).rows_that_matter()
            if rows is None:
                return None
            matter[list(rows)] = True
        return cls(placer, forms, trial, pod, matter)

    def status(self, row: int) -> Status | None:
        nodes, view = self._placer.cluster.nodes, self._placer.view
        for form in self._forms:
            status = form.one(self._cycle, form.shown(self._pod), view.view(row), nodes, view)
            if status is not None:
                return status
        return None


def _prepared(forms: list[Filter], cycle: Cycle, pod: Pod) -> bool:
    """Has the cycle hold what plugins that judge by domain know, to be copied with it. True: all are such."""
    domains = [(form.name, form.plugin) for form in forms if isinstance(form.plugin, DomainPlugin)]
    for name, plugin in domains:
        answers.call(name, "domain", plugin.prepare, cycle, pod)
    return len(domains) == len(forms)
