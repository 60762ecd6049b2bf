"""The arguments of DefaultPreemption, and how many candidate nodes they ask for."""

from __future__ import annotations

from mooring.framework.plugin import PluginArgs

MOST_PERCENT = 100


class DefaultPreemptionArgs(PluginArgs, frozen=True):
    """How many candidates are enough: a percentage of the nodes that may help, but so many at least."""

    min_candidate_nodes_percentage: int = 10
    min_candidate_nodes_absolute: int = 100

    def __post_init__(self) -> None:
        percentage, absolute = self.min_candidate_nodes_percentage, self.min_candidate_nodes_absolute
        if not 0 <= percentage <= MOST_PERCENT:
            raise ValueError(
                f"minCandidateNodesPercentage {percentage} not in valid range [0, {MOST_PERCENT}]"
            )
        if absolute < 0:
            raise ValueError(f"minCandidateNodesAbsolute {absolute} not in valid range [0, inf)")
        if not percentage and not absolute:
            raise ValueError("minCandidateNodesPercentage and minCandidateNodesAbsolute cannot both be zero")

    def wanted(self, nodes: int) -> int:
        """How many candidates are enough when so many nodes may help."""
        share = nodes * self.min_candidate_nodes_percentage // 100
        return min(max(share, self.min_candidate_nodes_absolute), nodes)
