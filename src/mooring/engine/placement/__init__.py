"""The best node for a pod, or why there is none: evaluated afresh or kept per class."""
