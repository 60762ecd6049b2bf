"""Keeps PodGroups in step with gangs: their status, and objects for gangs that only annotations declare."""
