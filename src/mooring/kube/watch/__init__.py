"""Informers: what is in the cluster, followed kind by kind, told to the engine as events."""
