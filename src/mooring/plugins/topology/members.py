"""Which domain of a topology key each node is in, and whether it takes part: shared by all who ask the same.

Spreading and affinity count pods by domain for many classes of pods. Which nodes make up the domains
depends on node objects alone, so it is worked out once for each key and each set of nodes that take
part, and repaired when node objects change.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from mooring.cluster.columns import Bools, Rows, StaticColumns
from mooring.cluster.journal import Journal
from mooring.cluster.nodes import NodeTable
from mooring.cluster.pods import PodTable
from mooring.cluster.view import StaticNode

CHANGES_KEPT = 1024
ABSENT = -1

TakesPart = Callable[[StaticColumns], Bools]


class Participants:
    """Which rows take part, whatever the topology key: as asked for, and followed once for all keys."""

    def __init__(self, nodes: NodeTable, pods: PodTable, takes_part: TakesPart) -> None:
        self._nodes = nodes
        self._pods = pods
        self._takes_part = takes_part
        self._position = -1
        self._rows = np.zeros(0, np.bool_)

    def at(self, rows: Rows | None) -> Bools:
        """Whether each of some rows does, as node objects are now; None: of all."""
        nodes = self._nodes
        position = nodes.node_journal.position
        if position != self._position:
            changed = nodes.node_journal.since(self._position) if self._position >= 0 else None
            if changed is None or nodes.high != len(self._rows) or len(changed) > nodes.high:
                self._rows = self._judged(None)
            else:
                some = np.array(sorted(set(changed)), np.intp)
                self._rows[some] = self._judged(some)
            self._position = position
        return self._rows if rows is None else self._rows[rows]

    def _judged(self, rows: Rows | None) -> Bools:
        nodes, pods = self._nodes, self._pods
        return self._takes_part(StaticColumns(nodes, lambda row: StaticNode(nodes, pods, row), rows))


class Members:
    """The domain of each row, ABSENT where it lacks the key. Domains are numbered as the label's values."""

    def __init__(self, nodes: NodeTable, key: str, participants: Participants | None) -> None:
        self._nodes = nodes
        self._key = key
        self._participants = participants
        self._position = -1
        self.journal = Journal(CHANGES_KEPT)  # rows that changed their domain, or whether they take part
        self._put(0)

    def _put(self, capacity: int) -> None:
        self.domain = np.full(capacity, ABSENT, np.int32)
        self.counts = np.zeros(capacity, np.uint8)
        self.domain_at = memoryview(self.domain)  # type: ignore[arg-type]
        self.counts_at = memoryview(self.counts)  # type: ignore[arg-type]
        self._nodes_in: dict[int, int] = {}  # that take part, by domain

    @property
    def domains(self) -> int:
        """How many domains have a node that takes part."""
        return len(self._nodes_in)

    @property
    def high(self) -> int:
        return self._nodes.high

    def sync(self) -> None:
        """Takes in node objects that changed."""
        nodes = self._nodes
        position = nodes.node_journal.position
        if position == self._position:
            return
        rows = nodes.node_journal.since(self._position) if self._position >= 0 else None
        if rows is None or nodes.capacity != len(self.domain) or len(rows) > nodes.high:
            self._build()
        else:
            changed = np.array(sorted(set(rows)), np.intp)
            domain, counts = self._read(changed)
            self._change(changed.tolist(), domain.tolist(), counts.tolist())
        self._position = position

    def _build(self) -> None:
        nodes = self._nodes
        self._put(nodes.capacity)
        domain, counts = self._read(None)
        self.domain[: nodes.high], self.counts[: nodes.high] = domain, counts
        sizes = np.bincount(domain[counts], minlength=1)
        self._nodes_in = {number: int(sizes[number]) for number in sizes.nonzero()[0].tolist()}
        self.journal.restart()

    def _read(self, rows: Rows | None) -> tuple[Any, Bools]:
        nodes = self._nodes
        ids = nodes.labels.column(self._key).ids
        domain = ids[: nodes.high] if rows is None else ids[rows]
        counts: Bools = domain != ABSENT
        if self._participants is not None:
            counts = counts & self._participants.at(rows)
        return domain, counts

    def _change(self, rows: list[int], domains: list[int], counts: list[bool]) -> None:
        for row, domain, now in zip(rows, domains, counts, strict=True):
            was, before = self.domain_at[row], bool(self.counts_at[row])
            if (was, before) == (domain, now):
                continue
            if before:
                self._nodes_in[was] -= 1
                if not self._nodes_in[was]:
                    del self._nodes_in[was]
            if now:
                self._nodes_in[domain] = self._nodes_in.get(domain, 0) + 1
            self.domain_at[row], self.counts_at[row] = domain, now
            self.journal.write(row)


class Memberships:
    """Members by what they are asked for; those nobody holds are forgotten."""

    def __init__(self, nodes: NodeTable, pods: PodTable) -> None:
        self._nodes = nodes
        self._pods = pods
        self._known: WeakValueDictionary[Hashable, Members] = WeakValueDictionary()
        self._participants: WeakValueDictionary[Hashable, Participants] = WeakValueDictionary()

    def of(self, key: str, ident: Hashable = None, takes_part: TakesPart | None = None) -> Members:
        """`ident` says which nodes take part, and is the same whenever they are the same; None: all do."""
        found = self._known.get((key, ident))
        if found is None:
            participants = None if takes_part is None else self._taking_part(ident, takes_part)
            found = self._known[key, ident] = Members(self._nodes, key, participants)
        return found

    def _taking_part(self, ident: Hashable, takes_part: TakesPart) -> Participants:
        found = self._participants.get(ident)
        if found is None:
            found = self._participants[ident] = Participants(self._nodes, self._pods, takes_part)
        return found
