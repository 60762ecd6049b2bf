"""The cluster as columns, and the statements that change it."""
