"""Sums over the domains of a topology key, kept in step with the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Self

from mooring.cluster.view import NodeView

Amount = Callable[[int], int]  # of a row
Counted = Callable[[NodeView], bool]

MISSING = None  # the token of a node that lacks the key


class DomainSums:
    """For each domain of a key: the sum of an amount over the nodes that count.

    A node's token stands for its domain. Where every node is a domain of its own, as with host names,
    the token is the node's amount itself, so that the many domains of equal sums are alike.
    """

    def __init__(self, key: str, amount: Amount, counted: Counted, *, unique: bool) -> None:
        self._key = key
        self._amount = amount
        self._counted = counted
        self._unique = unique
        self._looked: dict[int, tuple[object, str | None, bool]] = {}  # what a row's node object says
        self._rows: dict[int, tuple[str, int]] = {}
        self._nodes: dict[str, int] = {}  # nodes per domain
        self._sums: dict[str, int] = {}
        self._domains_with: dict[int, int] = {}  # how many domains have each sum

    def update(self, row: int, node: NodeView | None) -> object:
        """Takes a row in; returns its token."""
        value, counts = self._look(row, node)
        new = (value, self._amount(row)) if counts and value is not None else None
        old = self._rows.get(row)
        if new != old:
            if old is not None:
                self._add(old[0], -old[1], -1)
                del self._rows[row]
            if new is not None:
                self._add(new[0], new[1], 1)
                self._rows[row] = new
        if value is None:
            return MISSING
        if not self._unique:
            return value
        # Not the domain's sum: another row may still be in the domain, whose leaving is yet to be taken in.
        return 0 if new is None else new[1]

    def update_all(self, rows: Sequence[int], nodes: Sequence[NodeView | None]) -> list[object]:
        """Takes many rows in; returns their tokens. All that there are, the first time, in one go."""
        if self._rows:
            return [self.update(row, node) for row, node in zip(rows, nodes, strict=True)]
        taken, members, sums = self._rows, self._nodes, self._sums
        tokens: list[object] = []
        for row, node in zip(rows, nodes, strict=True):
            value, counts = self._look(row, node)
            if value is None:
                tokens.append(MISSING)
                continue
            amount = 0
            if counts:
                amount = self._amount(row)
                taken[row] = (value, amount)
                members[value] = members.get(value, 0) + 1
                sums[value] = sums.get(value, 0) + amount
            tokens.append(amount if self._unique else value)
        self._domains_with = dict(Counter(sums.values()))
        return tokens

    def _look(self, row: int, node: NodeView | None) -> tuple[str | None, bool]:
        """The domain of a row, and whether it counts: the same as long as the node's object is the same."""
        if node is None:
            return None, False
        looked, now = self._looked.get(row), node.object
        if looked is None or looked[0] is not now:
            value = node.labels.get(self._key)
            looked = self._looked[row] = (now, value, value is not None and self._counted(node))
        return looked[1], looked[2]

    def rows_with_some(self) -> Iterator[int]:
        """Rows that add to a sum."""
        return (row for row, (_, amount) in self._rows.items() if amount)

    def of(self, token: object) -> int:
        """The sum of a token's domain."""
        if isinstance(token, int):
            return token
        return self._sums.get(str(token), 0)

    @property
    def domains(self) -> int:
        return len(self._sums)

    @property
    def smallest(self) -> int:
        """The smallest sum of any domain."""
        return min(self._domains_with)

    @property
    def total(self) -> int:
        return sum(total * domains for total, domains in self._domains_with.items())

    def clone(self) -> Self:
        copy = type(self)(self._key, self._amount, self._counted, unique=self._unique)
        copy._looked = self._looked  # holds for whoever asks
        copy._rows, copy._nodes = dict(self._rows), dict(self._nodes)
        copy._sums, copy._domains_with = dict(self._sums), dict(self._domains_with)
        return copy

    def _add(self, value: str, amount: int, nodes: int) -> None:
        before = self._sums.get(value)
        if before is not None:
            self._histogram(before, -1)
        count = self._nodes.get(value, 0) + nodes
        if not count:
            del self._nodes[value], self._sums[value]
            return
        self._nodes[value] = count
        self._sums[value] = (before or 0) + amount
        self._histogram(self._sums[value], 1)

    def _histogram(self, total: int, domains: int) -> None:
        count = self._domains_with.get(total, 0) + domains
        if count:
            self._domains_with[total] = count
        else:
            del self._domains_with[total]
