"""Room for one pod: the best node to evict pods from."""
