"""Kinds that make pods: where each keeps its templates and counts, and which gangs it declares."""
