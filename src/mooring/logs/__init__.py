"""Logging, Kubernetes' way: structured lines as text or JSON, with a verbosity from 0 to 10."""

from mooring.logs.setup import configure, quiet, set_verbosity, verbosity
from mooring.logs.verbosity import V2, V3, V5, V10, fields

__all__ = ["V2", "V3", "V5", "V10", "configure", "fields", "quiet", "set_verbosity", "verbosity"]
