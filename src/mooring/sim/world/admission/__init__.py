"""What the API server's admission makes of a pod, and for what it refuses one."""
