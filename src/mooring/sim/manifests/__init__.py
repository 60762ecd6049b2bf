"""Files as people have them, read and checked."""
