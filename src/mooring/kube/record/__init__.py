"""Events for people to read."""
