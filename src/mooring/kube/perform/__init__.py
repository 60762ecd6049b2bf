"""Carries out decisions: binds, evictions, statuses, patches, writes of objects."""
