"""Why a pod fits nowhere, and the sentence that says so, in kube-scheduler's words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from mooring.framework.status import Code, Status

NO_NODES = "no nodes available to schedule pods"


class NodeStatuses(Mapping[str, Status]):
    """The status of every node: those that were asked, and one for all that were not."""

    def __init__(self, statuses: dict[str, Status], names: Iterable[str], absent: Status) -> None:
        self._statuses = statuses
        self._names = list(names)
        self.absent = absent

    def __getitem__(self, name: str) -> Status:
        return self._statuses.get(name, self.absent)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def explicit(self) -> dict[str, Status]:
        return self._statuses

    def resolvable(self) -> list[str]:
        """Nodes on which evicting pods may help."""
        return [name for name in self._names if self[name].code is Code.UNSCHEDULABLE]


class FitError(msgspec.Struct, frozen=True):
    """A pod that fits nowhere."""

    nodes: int
    statuses: NodeStatuses
    pre_filter_message: str = ""
    plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()

    def histogram(self) -> Counter[str]:
        """How many nodes gave each reason. A node may give several."""
        counts: Counter[str] = Counter()
        for status in self.statuses.explicit.values():
            counts.update(status.reasons)
        for reason in self.statuses.absent.reasons:
            counts[reason] += self.nodes - len(self.statuses.explicit)
        return +counts

    def message(self, post_filter: str = "") -> str:
        text = f"0/{self.nodes} nodes are available:"
        if self.pre_filter_message:
            text += f" {self.pre_filter_message}."
        elif reasons := sorted(f"{count} {reason}" for reason, count in self.histogram().items()):
            text += f" {', '.join(reasons)}."
        return f"{text} {post_filter}" if post_filter else text


def one_node(node_name: str, status: Status) -> FitError:
    """A pod that had a node and was rejected there, at reserve or permit."""
    plugins, pending = _blame([status])
    statuses = NodeStatuses({node_name: status}, [node_name], Status())
    return FitError(1, statuses, plugins=plugins, pending_plugins=pending)


def nodes_rejected(statuses: NodeStatuses, nodes: int, also: Iterable[str] = ()) -> FitError:
    """A pod every node rejected. `also` names the plugins that kept nodes from being asked."""
    plugins, pending = _blame(statuses.explicit.values())
    return FitError(nodes, statuses, plugins=plugins | frozenset(also), pending_plugins=pending)


def rejected_before(status: Status, names: list[str]) -> FitError:
    """A pod that was rejected before any node was asked."""
    plugins, pending = _blame([status])
    return FitError(len(names), NodeStatuses({}, names, status), status.message, plugins, pending)


def _blame(statuses: Iterable[Status]) -> tuple[frozenset[str], frozenset[str]]:
    """The plugins that reject, and those that wait for something."""
    given = {(status.plugin, status.code is Code.PENDING) for status in statuses if status.plugin}
    return (
        frozenset(plugin for plugin, pending in given if not pending),
        frozenset(plugin for plugin, pending in given if pending),
    )
