"""Rounds: stretches of deciding that plugins of the session model see from their opening to their close."""
