"""Making room: which pods go so that others fit."""
