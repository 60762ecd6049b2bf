"""What configurations were before v1, and what became of it."""
