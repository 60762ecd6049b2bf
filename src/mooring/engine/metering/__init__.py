"""The parts of an engine that has a meter."""
