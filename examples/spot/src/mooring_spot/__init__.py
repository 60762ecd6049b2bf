"""Who may run on spot nodes."""

from mooring_spot.guard import SpotGuard

__all__ = ["SpotGuard"]
