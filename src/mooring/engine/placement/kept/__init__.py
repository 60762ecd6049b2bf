"""Kept evaluations: what is known about a class of pods, repaired where something changed."""
