"""Pods that HTTP extenders have a say about."""
