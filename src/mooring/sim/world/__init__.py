"""The embedded cluster: its objects, what its API server fills in, its kubelets."""
