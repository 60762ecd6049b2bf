"""Puts the parts together: the only place that knows them all."""
