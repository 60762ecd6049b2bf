"""How long a story may take: all plugins together have as long as one policy has for an attempt, by default.

Who asks why keeps everybody from being scheduled meanwhile, and tenants write what plugins are asked about: a
pod of a thousand affinity terms is decided by what is kept, and told by asking about each term on each node.
"""

from __future__ import annotations

from mooring.config.profiles import ProfilePlan
from mooring.framework.api.plugin import Plugin
from mooring.framework.running.budget import Budgets, Ledger, Ledgers

LONGEST_S = 1.0


class StoryBudgets(Budgets):
    """Built-in plugins have no more time than policies, and all of them one ledger."""

    def ledgers(self, plan: ProfilePlan, plugins: dict[str, Plugin]) -> dict[str, Ledgers]:
        together = StoryLedger("all", plan, self, limit_s=LONGEST_S)
        beside = StoryLedger("all", plan, self, limit_s=LONGEST_S, each_call=True)
        each = Ledgers(together, together, beside, together, beside, beside)
        return dict.fromkeys(plugins, each)


class StoryLedger(Ledger):
    """Nobody is warned: the story says so itself."""

    def _warn(self, point: str, goes_on: bool) -> None:
        return
