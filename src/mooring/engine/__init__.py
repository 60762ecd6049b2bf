"""Decides: events in, decisions out."""
