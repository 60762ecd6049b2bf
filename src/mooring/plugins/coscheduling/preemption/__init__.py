"""Making room for whole gangs."""

from mooring.plugins.coscheduling.preemption.gangs import PlacedGang, PlacedGangs
from mooring.plugins.coscheduling.preemption.preemption import GangPreemption

__all__ = ["GangPreemption", "PlacedGang", "PlacedGangs"]
