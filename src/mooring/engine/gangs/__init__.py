"""Pods that are tried together."""
