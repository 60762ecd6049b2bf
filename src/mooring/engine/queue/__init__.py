"""Which pod is next: order, back-off, events that wake pods, pods in flight."""
