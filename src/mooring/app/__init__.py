"""Puts the parts together: the only place that knows them all."""

from mooring.app.making import make_engine, read_config, read_text
from mooring.app.simulating import simulate

__all__ = ["make_engine", "read_config", "read_text", "simulate"]
