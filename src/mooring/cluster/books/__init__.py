"""State beside the columns that follows every place taken and given back, and every undoing of it."""
