"""What a fact from outside changes: the cluster, the queue, what plugins may look up."""
