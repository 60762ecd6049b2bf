"""Gangs: pods that start together or not at all, however they are declared."""

from mooring.plugins.coscheduling.plugin import Coscheduling

__all__ = ["Coscheduling"]
