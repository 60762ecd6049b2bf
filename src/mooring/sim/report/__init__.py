"""A run as one HTML page that needs nothing else: no network, no script, no other file."""

from mooring.sim.report.page import render, write_report

__all__ = ["render", "write_report"]
