"""The arguments of DefaultPreemption, and how many candidate nodes they ask for."""

from __future__ import annotations

from mooring.errors import ArgsError, FieldMistake
from mooring.framework.api.plugin import PluginArgs

MOST_PERCENT = 100
PERCENTAGE, ABSOLUTE = "minCandidateNodesPercentage", "minCandidateNodesAbsolute"


class DefaultPreemptionArgs(PluginArgs, frozen=True):
    """How many candidates are enough: a percentage of the nodes that may help, but so many at least."""

    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100

    def __post_init__(self) -> None:
        percentage, absolute = self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
        mistakes = []
        if not 0 <= percentage <= MOST_PERCENT:
            what = f"{PERCENTAGE} {percentage} not in valid range [0, {MOST_PERCENT}]"
            mistakes.append(FieldMistake((PERCENTAGE,), what))
        if absolute < 0:
            mistakes.append(FieldMistake((ABSOLUTE,), f"{ABSOLUTE} {absolute} not in valid range [0, inf)"))
        if not percentage and not absolute:
            what = f"{PERCENTAGE} and {ABSOLUTE} cannot both be zero"
            mistakes.append(FieldMistake((PERCENTAGE,), what, beside=(ABSOLUTE,)))
        ArgsError.unless_right(mistakes)

    def wanted(self, nodes: int) -> int:
        """How many candidates are enough when so many nodes may help."""
        share = nodes * self.min_candidate_nodes_percentage // 100
        return min(max(share, self.min_candidate_nodes_absolute), nodes)
