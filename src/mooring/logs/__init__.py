"""Logging, Kubernetes' way: structured lines as text or JSON, with a verbosity from 0 to 10."""

from mooring.logs.setup import configure, errors, quiet, set_clock, set_verbosity, verbosity
from mooring.logs.verbosity import V2, V3, V5, V10, fields

__all__ = [
    "V2", "V3", "V5", "V10",
    "configure", "errors", "fields", "quiet", "set_clock", "set_verbosity", "verbosity",
]  # fmt: skip
