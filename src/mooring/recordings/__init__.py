"""Recordings of what an engine is told and decides: packed files of bounded size, to be played again."""
