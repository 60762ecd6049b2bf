"""Pods on nodes that matter to where a gang goes: those of a selector, and those that make a node busy.

Counted as pods come and go. Pods of a DaemonSet make no node busy: they would be on any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping

from mooring.framework.api.handle import Handle
from mooring.model.objects import Pod
from mooring.plugins.coscheduling.topology.trees import NodeLabels
from mooring.workloads.topology_wishes import selector_of

NAME = "network topology of gangs"
BUSY = "busy"


def _marks_of(pod: Pod) -> tuple[Hashable, ...]:
    selector = selector_of(pod)
    own = (("selector", selector),) if selector else ()
    daemon = any(owner.kind == "DaemonSet" for owner in pod.metadata.owner_references)
    return own if daemon else (BUSY, *own)


class Marks:
    """Counts of marked pods, by the names of nodes. Nobody is counted before somebody asks."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def existing(self, selector: str, members: Iterable[tuple[Pod, str]] = ()) -> Mapping[str, int]:
        """Pods of a selector, and members with the nodes they have; each pod once."""
        found = self._rows(("selector", selector)) if selector else Counter()
        found.update(name for member, name in members if not selector or selector_of(member) != selector)
        return found

    def busy(self) -> Iterable[str]:
        return self._rows(BUSY)

    def _rows(self, mark: Hashable) -> Counter[str]:
        counts = self._handle.counts.carrier(NAME, _marks_of).get(mark)
        if counts is None:
            return Counter()
        name = self._handle.cluster.shared(NodeLabels).name
        return Counter({name(row): count for row, count in counts.by_row.items()})
